# The commands a person types. Everything installs itself where it is missing.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCKS := requirements.lock requirements-dev.lock
PACKAGES := $(shell cat $(LOCKS) | grep -c ==)
# Files with compiled loops: when one changes, all are compiled anew, because a caller's cache does not see its callee.
COMPILED := $(shell grep -rl --include='*.py' '^@compiled' reanon_core)

# Compiled modules are kept, whatever the shell says: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all lint sbom bench bench-scale results trust ui docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.packages: $(LOCKS) requirements-pycanon.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; name it with make PYTHON=..." >&2; exit 2; }
	@echo "1 of 2: installing $(PACKAGES) packages into $(VENV) (about a minute, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --disable-pip-version-check --progress-bar off --no-compile --no-deps --require-hashes $(LOCKS:%=-r %) 2> >(grep -v '^WARNING' >&2) | \
	  awk -v all=$(PACKAGES) '/^(Collecting|Processing|Requirement already)/ { if (++n % 20 == 0) print "  " n " of " all; fflush() } /^Installing/ { print "  unpacking"; fflush() }'
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/pycanon -r requirements-pycanon.lock 2> >(grep -v '^WARNING' >&2)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q reanon_core reanon_dagster
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true  # on all cores; some packages contain templates that are no Python
	@touch $(VENV)/.packages

# What the demo needs is compiled first: the other techniques are compiled when a target needs them.
$(VENV)/.first-kernels: $(VENV)/.packages $(COMPILED)
	@echo "2 of 2: compiling the numerical kernels that the demo needs (less than a minute, once)"
	@find reanon_core -name '*.nb[ic]' -delete
	@$(BIN)/python -m reanon_core.precompile m-invariance cor-split mondrian "decoupled form"
	@touch $(VENV)/.first-kernels

$(STAMP): $(VENV)/.first-kernels
	@echo "compiling the kernels of the other techniques (about a minute, once)"
	@$(BIN)/python -m reanon_core.precompile
	@touch $(STAMP)

install: $(STAMP) ## make .venv with reanon in it, and compile the kernels

demo: $(VENV)/.first-kernels .dagster/dagster.yaml ## publish eight years of a survey through Dagster, in two forms
	@DAGSTER_HOME=$(CURDIR)/.dagster $(BIN)/python data/survey/demo.py

test: $(STAMP) ## run the test-suite
	$(BIN)/python tests/suite.py

test-all: $(STAMP) ## also what is too long for CI
	$(BIN)/python tests/suite.py --all

lint: $(VENV)/.packages ## ruff, mypy --strict and pip check
	$(BIN)/pip check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.dagster/dagster.yaml: reanon_dagster/dagster.yaml
	@mkdir -p .dagster
	@cp $< $@

ui: $(STAMP) .dagster/dagster.yaml ## open Dagster on 127.0.0.1:3000
	DAGSTER_HOME=$(CURDIR)/.dagster $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p 3000

sbom: $(VENV)/.packages ## list what reanon runs with, and its licences, in build/sbom.json (CycloneDX)
	@$(BIN)/python -m tests.supply.sbom build/sbom.json

bench: $(STAMP) ## measure ratios inside one run, write build/bench.json
	$(BIN)/python tests/benchmarks/bench.py

bench-scale: $(STAMP) ## one and ten million rows against DuckDB's own shuffle, write build/bench-scale.json
	$(BIN)/python tests/benchmarks/scale.py --json build/bench-scale.json

results: $(STAMP) ## the figures of the papers on our data, to docs/results/figures (CHECK=1: compare with the kept ones)
	$(BIN)/python -m tests.experiments.results $(if $(CHECK),--check)

trust: $(STAMP) ## kill, cut, corrupt and race it; write build/trust.json and docs/trust.md (SHORT=1: a sample)
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python -m trust.run --size $(if $(SHORT),short,full)

$(VENV)/.docs-packages: $(VENV)/.packages requirements-docs.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-docs.lock 2> >(grep -v '^WARNING' >&2)
	@touch $(VENV)/.docs-packages

# After a warning every page is read anew: Sphinx says nothing about a page that it does not read again. A site without
# warnings is marked, so that its test need not build another one.
docs: $(VENV)/.docs-packages ## build the documentation as a static site in build/site
	@rm -f build/.site
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees -b html . build/site || { rm -rf build/doctrees; exit 1; }
	@touch build/.site
	@echo "the site is in build/site/index.html"

clean: ## remove what was built (never the private stores)
	rm -rf $(VENV) build *.egg-info
