# Each target does all its set-up itself: a Python >= 3.10 with venv is all that is needed. uv is used where it is present.
# `make PYTHON=/path/to/python test` picks the interpreter; `make` alone lists the targets.

.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-spark ui test check guard bench bench-spark flat-memory format coverage schema docs clean

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO_HOME := $(CURDIR)/.demo/dagster_home

PYTHONS := python3.13 python3.12 python3.11 python3.10 python3 python
SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))

# The part of the browser that is not a Python package: where the tests look for it (tests/conftest.py).
CHROMIUM = $(firstword $(DQ_DAGSTER_CHROMIUM) $(shell command -v chromium chromium-browser google-chrome 2>/dev/null))

export DAGSTER_DISABLE_TELEMETRY := yes

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(INSTALLED) ## Materialize the example, evaluate its checks, print the outcomes
	@$(BIN)/python -m example_project.demo

demo-spark: $(INSTALLED) ## Evaluate the example's recipes on DuckDB and on a local Spark, side by side (needs a Java runtime)
	@$(BIN)/python -m example_project.demo_spark

ui: $(INSTALLED) ## Open the example in Dagster's UI, with the daemon, on 127.0.0.1:3000 (make PORT=3001 ui)
	@mkdir -p $(DEMO_HOME)
	@cp example_project/dagster.yaml $(DEMO_HOME)/dagster.yaml
	@echo "Dagster's UI: http://127.0.0.1:$(or $(PORT),3000)   (Ctrl-C stops it)"
	@DAGSTER_HOME=$(DEMO_HOME) PATH="$(CURDIR)/$(BIN):$$PATH" \
		$(BIN)/dagster dev --workspace workspace.yaml --host 127.0.0.1 --port $(or $(PORT),3000)

test: $(INSTALLED) ## Run every test, the browser tests where a Chromium is found, those on Spark where Java is
	@if [ -z "$(CHROMIUM)" ]; then \
		echo "No Chromium was found: the browser tests will be SKIPPED. Install one, or set DQ_DAGSTER_CHROMIUM to its path."; \
	else echo "Browser tests use $(CHROMIUM)"; fi
	@command -v java >/dev/null 2>&1 || [ -n "$${JAVA_HOME:-}" ] || echo "No Java was found: the tests on Spark will be SKIPPED. Java 17 or later is needed."
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

check: $(INSTALLED) ## Format, lint, types, import layers, and the generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	@$(BIN)/dq-dagster schema | diff -u docs/recipe.schema.json - \
		|| { echo "docs/recipe.schema.json is out of date: run make schema"; exit 1; }
	@$(BIN)/python -m dq_dagster.cli.kinds_pages --check docs/kinds

guard: $(INSTALLED) ## Fail where a million rows take too long, as a ratio to DuckDB by hand
	@$(BIN)/python bench/guard.py

bench: $(INSTALLED) ## Compare with DuckDB by hand and the peers (make bench ARGS="--rows 1000000 --peers soda")
	@$(BIN)/python bench/run.py $(ARGS)

flat-memory: $(INSTALLED) ## Try each kind that holds state under a small memory limit (make flat-memory ARGS="--rows 1000000 --memory 100")
	@$(BIN)/python bench/flat_memory.py $(ARGS)

bench-spark: $(INSTALLED) ## Compare with Spark SQL by hand and the peers there (make bench-spark ARGS="--peers dqx sparkdq")
	@$(BIN)/python bench/run_spark.py $(ARGS)

format: $(INSTALLED) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(INSTALLED) ## Run the tests and report which lines they missed
	@$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term-missing $(ARGS)

schema: $(INSTALLED) ## Write docs/recipe.schema.json anew
	$(BIN)/dq-dagster schema > docs/recipe.schema.json.new
	mv docs/recipe.schema.json.new docs/recipe.schema.json

docs: $(INSTALLED) ## Write the reference of the kinds, docs/kinds, anew
	$(BIN)/python -m dq_dagster.cli.kinds_pages docs/kinds

clean: ## Remove the environment, the example's home and every cache
	rm -rf $(VENV) .demo dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
		for candidate in $(PYTHONS); do \
			if "$$candidate" -c '$(SUITABLE)' >/dev/null 2>&1; then python="$$candidate"; break; fi; \
		done; \
	fi; \
	if [ -z "$$python" ]; then \
		echo "No suitable Python was found. Needed: Python 3.10 to 3.14 with the venv module (tried: $(PYTHONS))."; \
		echo "On Debian and Ubuntu: apt install python3 python3-venv. Or name one: make PYTHON=/path/to/python ..."; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$("$$python" --version) ($$python); this happens once"; \
	if command -v uv >/dev/null 2>&1; then \
		[ -x $(BIN)/python ] || uv venv --python "$$(command -v "$$python")" $(VENV); \
		uv pip install --python $(BIN)/python --constraint constraints.txt --editable '.[dev,example]'; \
	else \
		[ -x $(BIN)/python ] || "$$python" -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,example]'; \
	fi
	@touch $@
