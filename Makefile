# `make run` and `make test` build what they need; a second call starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test check docs clean

run: $(VENV)/.run
	$(BIN)/sordino run

test: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --durations=15 --numprocesses=auto --dist=loadfile --no-loadscope-reorder

check: $(VENV)/.test docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Builds the documentation into site/, which any web server or browser shows; a warning is an error.
docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("sordino needs Python 3.11 or newer; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[synthetic]'
	touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[synthetic,track,hub,sentiment,flower,split,docs,dev]'
	touch $@

clean:
	rm -rf $(VENV) site
