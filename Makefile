# make run | extra | test | check | docs | bench | dist. Everything is installed into $(VENV), once; the stamps tell when that must
# be redone. CONSTRAINTS= installs the newest versions in place of the tested ones (docs/installation.md).

VENV ?= .venv
PYTHON ?= $(shell python3.11 -c '' 2>/dev/null && echo python3.11 || echo python3)
ARGS ?=
CONSTRAINTS ?= constraints.txt

BIN = $(VENV)/bin
RUN_READY = $(VENV)/.ready-to-run
CHECK_READY = $(VENV)/.ready-to-check
DOCS_READY = $(VENV)/.ready-for-docs
RELEASE_READY = $(VENV)/.ready-to-release
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
TESTED = $(if $(CONSTRAINTS),-c $(CONSTRAINTS))

.PHONY: help run extra test check lint format types docs docs-serve bench dist
.DEFAULT_GOAL := help

help:
	@echo 'make run     install what a run needs, then python main.py; more words go into ARGS="--algo PPO"'
	@echo 'make extra   install what the MuJoCo and Atari environments need'
	@echo 'make test    install what the checks need, then the tests that take no long time; ARGS="-k replay" chooses others'
	@echo 'make check   lint, format, types, and then all tests'
	@echo 'make docs    build the pages as a site, in site/; make docs-serve shows it while pages change'
	@echo 'make bench   measure the speed (minutes)'
	@echo 'make dist    build what is published, in dist/, and check it (docs/releasing.md)'

run: $(RUN_READY)
	$(BIN)/python main.py $(ARGS)

extra: $(VENV)/.made
	$(PIP_INSTALL) $(TESTED) -r requirements-extra.txt

test: $(CHECK_READY)
	$(BIN)/python -m pytest $(if $(ARGS),$(ARGS),-m "not run and not ray and not long")

check: lint format types
	$(BIN)/python -m pytest

lint: $(CHECK_READY)
	$(BIN)/ruff check
	$(BIN)/ruff check --quiet --preview --select PLW1514 --extend-exclude tests  # text without an encoding differs between systems

format: $(CHECK_READY)
	$(BIN)/ruff format --check

types: $(CHECK_READY)
	$(BIN)/mypy

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

docs-serve: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: $(CHECK_READY)
	$(BIN)/python benchmarks/speed.py $(ARGS)

dist: $(RELEASE_READY)
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	cd dist && sha256sum *

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUN_READY): requirements.txt $(CONSTRAINTS) $(VENV)/.made
	$(PIP_INSTALL) $(TESTED) -r requirements.txt
	@touch $@

$(CHECK_READY): requirements-dev.txt requirements.txt $(CONSTRAINTS) $(VENV)/.made
	$(PIP_INSTALL) $(TESTED) -r requirements-dev.txt
	@touch $@ $(RUN_READY)

$(DOCS_READY): requirements-docs.txt $(VENV)/.made
	$(PIP_INSTALL) -r requirements-docs.txt
	@touch $@

$(RELEASE_READY): requirements-release.txt $(VENV)/.made
	$(PIP_INSTALL) --require-hashes -r requirements-release.txt
	@touch $@
