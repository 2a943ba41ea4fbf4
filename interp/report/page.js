"use strict";

// Draws the figures in the colours of the reader's scheme, and sorts tables by their headings.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const darkColours = new Map(Object.entries(read("dark-colours")));
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const words = new Set(["text", "ticktext", "customdata", "name", "hovertemplate"]);
  const config = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };
  const printWidth = 660;

  function darkened(value, key) {
    if (words.has(key) && typeof value !== "object") return value;
    if (typeof value === "string") return darkColours.get(value) ?? value;
    if (Array.isArray(value)) return words.has(key) ? value : value.map((item) => darkened(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, darkened(v, k)]));
  }

  function draw(printing) {
    for (const plot of document.querySelectorAll(".plot")) {
      const figure = read(plot.dataset.figure);
      const shown = scheme.matches && !printing ? darkened(figure) : figure;
      const layout = printing ? { ...shown.layout, width: printWidth } : { ...shown.layout, autosize: true };
      Plotly.react(plot, shown.data, layout, config).then(() => { plot.dataset.drawn = "yes"; });
    }
  }

  function sortBy(table, column, direction) {
    const body = table.tBodies[0];
    const valueOf = (row) => {
      const value = row.cells[column].dataset.value;
      return value === undefined ? null : Number(value);
    };
    const rows = [...body.rows].sort((one, other) => {
      const [a, b] = [valueOf(one), valueOf(other)];
      if (a === null || b === null) return (a === null) - (b === null);
      return direction === "ascending" ? a - b : b - a;
    });
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => {
        const first = column === 0 ? "ascending" : "descending";
        const second = column === 0 ? "descending" : "ascending";
        const direction = heading.getAttribute("aria-sort") === first ? second : first;
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", direction);
        sortBy(table, column, direction);
      });
    });
  }

  scheme.addEventListener("change", () => draw(false));
  window.addEventListener("beforeprint", () => draw(true));
  window.addEventListener("afterprint", () => draw(false));
  draw(false);
})();
