# Two commands on a fresh machine: `make demo` runs the main job offline, `make test` runs the tests.
# Each makes its own .venv from pyproject.toml under constraints.txt; uv is used where it is installed.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER ?= auto
TESTS ?= tests
export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false

.DEFAULT_GOAL := help
.PHONY: help demo test slow lint bench chaos browser chromium docs clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'; \
	else \
	  python3 -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'; \
	fi
	@touch $@

browser: $(STAMP)
	@$(BIN)/python -m spiders.shared.browser_install $(BROWSER)

chromium: ## install a browser for the pages that need one
	@$(MAKE) --no-print-directory browser BROWSER=install

demo: $(STAMP) browser ## the nightly job on two recorded nights, into ./demo, offline
	@rm -rf demo
	@$(BIN)/gpufare demo

test: $(STAMP) browser ## all tests, offline
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" $(TESTS)

slow: $(STAMP) ## the tests that `make test` leaves out: sixty nights, object store, the site in a browser
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m slow $(TESTS)

lint: $(STAMP) ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP) ## ratios of time and size; prints, fails nothing
	@for bench in benchmarks/*.py; do echo "== $$bench"; $(BIN)/python $$bench; done

chaos: $(STAMP) ## kills and faults over real stores, counted; 8 minutes (CHAOS="--minutes 2 --seed 7")
	@$(BIN)/python tests/chaos.py $(CHAOS)

docs: $(STAMP) ## write the generated tables into the READMEs
	@$(BIN)/python -m gpufare.docs

clean: ## remove what the targets made
	rm -rf $(VENV) demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
