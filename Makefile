# Targets explain themselves: a bare `make` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Tests start thousands of Pythons, which are to find what is compiled; and they mostly wait: more at once than cores.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -q -n 6 --dist worksteal
LIVE   := $(BIN)/python -m pytest -q tests/live
# What pyproject.toml says that a part needs, in the versions and files of constraints.txt.
install_for = $(BIN)/python packaging/requirements.py $(1) >$(VENV)/needed-$(1).txt && \
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/needed-$(1).txt
.DEFAULT_GOAL := help
.PHONY: help demo demo-tasks docs test more browser screenshots corpus lint types release bench bench-scale torture root figures live live-long glitch-report clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/core: pyproject.toml packaging/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "JIM needs Python 3.11 or newer; say PYTHON=…" >&2; exit 1; }
	@test -L jim/adapters || { echo "jim/adapters is no symbolic link: clone with symbolic links (git config core.symlinks true)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(call install_for,core)
	@touch $@

$(VENV)/demo: $(VENV)/core $(VENV)/pages
	$(call install_for,demo)
	@touch $@

# What `jim pages` needs beside.
$(VENV)/pages: $(VENV)/core
	$(call install_for,pages)
	@touch $@

$(VENV)/tests: $(VENV)/core $(VENV)/pages
	$(call install_for,tests)
	@touch $@

# A real browser, which looks at the pages; axe judges whether everybody can use them. Only what is missing is installed:
# Debian's npm cannot stand beside a nodejs from elsewhere.
$(VENV)/browser: $(VENV)/tests
	@missing=; for program in chromium npm; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	test -z "$$missing" || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "as root: apt-get install$$missing" >&2; exit 3; }; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
	$(call install_for,browser)
	npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core
	@touch $@

$(VENV)/checks: $(VENV)/core $(VENV)/pages
	$(call install_for,checks)
	@touch $@

$(VENV)/release: $(VENV)/tests
	$(call install_for,release)
	@touch $@

demo: $(VENV)/demo  ## see it work: from 1,000 events to a physics result (no root)
	@shell/jim-demo

demo-tasks: $(VENV)/demo  ## see tasks feed one another: generate, reconstruct, merge, to one mass peak (no root)
	@shell/jim-demo-tasks

# Debian's own Sphinx, which asks nobody, and with it Debian's Python. The same commit gives the same bytes: neither the
# time, the place nor the order of sets goes into them.
DOCS        ?= build/docs
DOCS_PYTHON ?= /usr/bin/python3
docs:  ## the documents as a site, in build/docs/html (with Sphinx of Debian 12; needs no network)
	@$(DOCS_PYTHON) -P -s -B -c 'import furo, myst_parser, sphinx, tenacity' 2>/dev/null || { \
	echo "$(DOCS_PYTHON) has no Sphinx: as root, apt-get install python3-sphinx python3-myst-parser furo python3-tenacity" >&2; exit 3; }
	@rm -rf $(DOCS)
	@umask 022; SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} PYTHONHASHSEED=0 LC_ALL=C.UTF-8 \
	$(DOCS_PYTHON) -P -s -B -m sphinx -q -n -W --keep-going -b html -c packaging/docs_site -d $(DOCS)/doctrees . $(DOCS)/html
	@rm -rf $(DOCS)/html/.buildinfo $(DOCS)/doctrees
	@echo "$(DOCS)/html/index.html"

test: $(VENV)/tests $(VENV)/demo  ## the tests that need no root and no patience
	$(PYTEST) --part quick

more: $(VENV)/tests $(VENV)/demo $(VENV)/release  ## whole lives, without root: kills, wrappers in every way, long scenes, installs
	$(PYTEST) --part more

browser: $(VENV)/browser  ## the pages in a real Chromium (installs it, as root, where it is missing); ALL=1: in each look
	AXE=$(abspath $(VENV))/axe/node_modules/axe-core/axe.min.js $(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=10 $(if $(ALL),-m "not live") tests/browser

screenshots: $(VENV)/browser  ## by hand: the pictures in docs/images, from real runs (takes minutes)
	$(BIN)/python tests/browser/screenshots.py

corpus: $(VENV)/core  ## run only the splitting cases; CORPUS=DIR: those of another directory
	$(BIN)/python -P -s tests/corpus/run.py $(if $(CORPUS),"$(CORPUS)")

lint: $(VENV)/checks  ## ruff: format and rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/checks  ## mypy --strict
	$(BIN)/mypy

release: $(VENV)/release  ## what people can pick up, in dist/: of the last commit, always with the same bytes
	$(BIN)/python -P -s packaging/release.py

bench: $(VENV)/tests  ## measure the promised figures
	$(BIN)/python -P -s bench/figures.py

THROUGH ?= 100000

bench-scale: $(VENV)/tests  ## measure the keeper with very many jobs; THROUGH=1000000 sends a million through a stub of Slurm
	$(BIN)/python -P -s bench/scale.py --write --through $(THROUGH)

figures: $(VENV)/tests  ## measure the source: rooms, import circles, sizes
	@$(BIN)/python -s -m tools.house

torture: $(VENV)/tests $(VENV)/demo  ## long fault tests: a kill at every step and every writing call
	$(PYTEST) -n 3 -m torture

root:
	@test "$$(id -u)" = 0 || { echo "this needs root: it installs and starts real batch systems, on Debian only" >&2; exit 3; }
	@command -v apt-get >/dev/null || { echo "this needs Debian: it installs real batch systems with apt-get" >&2; exit 3; }

live: root $(VENV)/tests  ## short tests on real batch systems, a gatekeeper, and of Debian's packages (root, Debian)
	$(LIVE) --durations=10 -m 'live and not long'

live-long: root $(VENV)/demo $(VENV)/tests $(VENV)/classads  ## all other tests on real systems: an hour (root, Debian)
	$(LIVE) --durations=40 -m 'live and long'

glitch-report: root $(VENV)/tests  ## break a real Slurm and Grid Engine and print a table of losses (root, Debian)
	@$(BIN)/python -P -s tests/live/faults.py

# HTCondor's own reader of ads: too large for what every test run installs.
$(VENV)/classads: $(VENV)/core
	$(call install_for,live)
	@touch $@

# Where `make install` puts JIM, and whose libraries it uses: docs/installing.md
PREFIX    ?= /usr/local
LIBRARIES ?= own
export PREFIX DESTDIR PYTHON LIBRARIES
.PHONY: install uninstall

install:  ## install JIM below PREFIX; LIBRARIES=system: with the libraries of PYTHON
	@packaging/install.sh install

uninstall:  ## remove the installed JIM; site file and state directories stay
	@packaging/install.sh uninstall

clean:  ## remove the files that targets made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .demo .demo-d0 .demo-tasks
