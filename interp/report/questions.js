"use strict";

// One row a question: filters, search, links to a question or a filter, and every text as text.
(() => {
  const { rows, filters } = JSON.parse(document.getElementById("question-data").textContent);
  const step = 50;
  const box = document.getElementById("question-rows");
  const more = document.getElementById("more");
  const search = document.getElementById("search");
  const status = document.getElementById("shown");
  const buttons = new Map();
  let active = "all";
  let found = rows;
  let shown = 0;

  const words = rows.map((row) => [row.id, row.text, row.gold, row.subject, ...row.answers.map((a) => a.text)]
    .join("\n").toLowerCase());

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function marked(answer) {
    const cell = make("td", "answer");
    cell.dir = "auto";
    if (!answer.span) {
      cell.textContent = answer.text === "" ? "(empty)" : answer.text;
      return cell;
    }
    const letters = Array.from(answer.text);
    const [from, to] = answer.span;
    cell.append(letters.slice(0, from).join(""), make("mark", "", letters.slice(from, to).join("")),
      letters.slice(to).join(""));
    return cell;
  }

  function answered(row) {
    const table = make("table");
    for (const answer of row.answers) {
      const line = make("tr");
      const head = make("th", "", answer.by);
      head.scope = "row";
      if (answer.n !== undefined) head.append(make("small", "", ` ${answer.n} of ${answer.of}`));
      const verdict = answer.reason ? `${answer.outcome}: ${answer.reason}` : answer.outcome;
      line.append(head, marked(answer), make("td", `verdict ${answer.outcome}`, verdict));
      table.append(line);
    }
    return table;
  }

  function article(row) {
    const element = make("article", "entry");
    element.id = `q-${row.id}`;
    const top = make("p", "meta");
    const link = make("a", "", row.id);
    link.href = `#q=${encodeURIComponent(row.id)}`;
    top.append(link);
    for (const label of row.labels) top.append(" ", make("span", `state ${label.replaceAll(" ", "-")}`, label));
    top.append(" gold ", make("bdi", "gold", row.gold));
    for (const note of row.notes) top.append(make("span", "note", note));
    const question = make("p", "question", row.text);
    question.dir = "auto";
    element.append(question, top, answered(row));
    return element;
  }

  function extend() {
    const next = found.slice(shown, shown + step);
    box.append(...next.map(article));
    shown += next.length;
    more.hidden = shown >= found.length;
    status.textContent = `${found.length} of ${rows.length} questions`;
  }

  function apply() {
    const wanted = search.value.trim().toLowerCase();
    found = rows.filter((row, i) => (active === "all" || row.labels.includes(active))
      && (wanted === "" || words[i].includes(wanted)));
    shown = 0;
    box.replaceChildren();
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(name === active));
    extend();
  }

  function follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.has("show") && buttons.has(asked.get("show"))) {
      active = asked.get("show");
      apply();
    }
    if (asked.has("q")) {
      active = "all";
      search.value = "";
      apply();
      const place = found.findIndex((row) => row.id === asked.get("q"));
      if (place < 0) return;
      while (shown <= place) extend();
      const element = box.children[place];
      element.classList.add("target");
      element.scrollIntoView({ block: "center" });
    }
  }

  const toolbar = document.getElementById("filters");
  for (const name of ["all", ...filters]) {
    const n = name === "all" ? rows.length : rows.filter((row) => row.labels.includes(name)).length;
    const button = make("button", `state ${name.replaceAll(" ", "-")}`, `${name} ${n}`);
    button.type = "button";
    button.addEventListener("click", () => {
      active = name;
      history.replaceState(null, "", name === "all" ? "#questions" : `#show=${encodeURIComponent(name)}`);
      apply();
    });
    buttons.set(name, button);
    toolbar.append(button);
  }
  search.addEventListener("input", apply);
  more.addEventListener("click", extend);
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => { while (shown < found.length && shown < 500) extend(); });
  apply();
  follow();
})();
