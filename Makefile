# Targets explain themselves: a bare `make` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo test corpus lint types bench torture clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "JIM needs Python 3.11 or newer; say PYTHON=…" >&2; exit 1; }
	@test -L jim/adapters || { echo "jim/adapters is no symbolic link: clone with symbolic links (git config core.symlinks true)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check lxml psutil tenacity rich
	@touch $@

$(VENV)/demo: $(VENV)/core
	$(BIN)/pip install --quiet --disable-pip-version-check 'pythia8mc==8.317.2'
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/pip install --quiet --disable-pip-version-check hypothesis lxml-stubs mypy pytest ruff types-psutil
	@touch $@

demo: $(VENV)/demo  ## see it work: 1,000 events to a physics result (no root)
	@shell/jim-demo

test: $(VENV)/dev $(VENV)/demo  ## all tests that need no root
	$(BIN)/python -m pytest -q -m 'not torture'

corpus: $(VENV)/core  ## the splitting cases alone; CORPUS=DIR: those of another directory
	$(BIN)/python -P -s tests/corpus/run.py $(CORPUS)

lint: $(VENV)/dev  ## ruff: format and rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev  ## mypy --strict
	$(BIN)/mypy

bench: $(VENV)/dev  ## measure the figures that are promised
	$(BIN)/python -P -s bench/figures.py

torture: $(VENV)/dev $(VENV)/demo  ## the long faults: a kill at every step and every writing call
	$(BIN)/python -m pytest -q -m torture

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .demo
