# `make setup` needs python3 (3.11 or newer) and make; everything else goes into .venv.

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_STAMP := $(VENV)/.uv-installed
STAMP := $(VENV)/.installed

# One thread per process: parallel BLAS makes small problems slower and timings noisy.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-all soak lowest site dist lint format types layers pytest bench results metaworld viewer lock clean

help:
	@echo 'make setup     create .venv with the locked dependencies and the project'
	@echo 'make demo      watch the simulated robot recover; the page and the 3-D replay go to runs/demo'
	@echo 'make test      lint, types, layers, and the quick tests: every theorem and contract'
	@echo 'make test-all  the same, with long searches, committed results, examples, cluster and browser'
	@echo 'make soak      thousands of random schedules, kills and damaged journals; writes docs/reliability.md'
	@echo 'make lowest    the core tests against the lowest versions that pyproject.toml allows'
	@echo 'make site      the documentation with the API reference, into build/site, with every link checked'
	@echo 'make dist      source and wheels of both packages into dist/, tried in a fresh environment'
	@echo 'make lint      ruff check and ruff format --check'
	@echo 'make format    let ruff rewrite what it can'
	@echo 'make types     mypy, strict, on both packages'
	@echo 'make layers    import-linter'
	@echo 'make pytest    the tests alone; PYTEST_ARGS="-k name" narrows them'
	@echo 'make bench     time decisions and planning'
	@echo 'make results   run every suite again into results/, and make the tables and pictures; SUITES="t4-v3" names some'
	@echo 'make metaworld  run the suite of Meta-World, in an environment of its own, into results/'
	@echo 'make viewer    check and build the scripts of the pages; needs npm, which nothing else does'
	@echo 'make lock      write requirements/*.txt again; UPGRADE=1 takes the newest versions'
	@echo 'make clean     remove .venv, caches and build output'

setup: $(STAMP)

# Bytecode is compiled here, because starting fast matters also where PYTHONDONTWRITEBYTECODE is set.
# A stamp is the last thing its recipe makes, so an interrupted setup starts over.
$(UV_STAMP): requirements/uv.txt
	@$(PYTHON) -c 'import sys' 2>/dev/null || { \
	  echo "'$(PYTHON)' was not found: install Python 3.11 or newer, or name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "aquamend needs Python 3.11 or newer, but '$(PYTHON)' is `$(PYTHON) --version 2>&1`;" \
	    "name a newer one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks the venv or ensurepip module: install it (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo 'setup: creating $(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/uv.txt
	@touch $@

$(STAMP): $(UV_STAMP) pyproject.toml lab/pyproject.toml requirements/dev.txt requirements/outside.txt hatch_build.py src/aquamend/decision/min_cut.c
	@rm -f $@
	@echo 'setup: installing the locked dependencies'
	@$(UV) pip sync --quiet --python $(BIN)/python --compile-bytecode --require-hashes requirements/dev.txt requirements/uv.txt requirements/outside.txt
	@echo 'setup: installing aquamend and aquamend-lab'
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . --editable lab
	@$(BIN)/python -m compileall -qq src lab/src
	@$(BIN)/aquamend schema > src/aquamend/files/problem.schema.json # the examples name it, for editors
	@touch $@
	@echo 'setup: done; try `make demo`'

demo: $(STAMP)
	@$(BIN)/aquamend demo

# The three checks run side by side; what they find comes before the tests.
test: $(STAMP)
	@$(MAKE) --no-print-directory -j3 lint types layers
	@$(MAKE) --no-print-directory pytest

# What is skipped in the second tier fails: `.ci/packages` installs what it needs.
test-all: $(STAMP)
	@ALL_TESTS_RUN=1 $(MAKE) --no-print-directory test PYTEST_ARGS='$(PYTEST_ARGS) -m ""'

# Thousands of schedules, kills, damaged and shared journals; `make test-all` runs a tenth of them.
soak: $(STAMP)
	@rm -rf build/reliability
	@SOAK=1 $(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --dist worksteal -m "" tests/soak
	@$(BIN)/python docs/make_reliability.py

# What runs beside a robot is tested with the oldest libraries it may find there.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/problem tests/learning tests/lint tests/files \
  tests/decision/test_undo_that_may_fail.py tests/decision/test_min_cut.py tests/policies/test_robust.py \
  tests/cli/test_bad_input.py tests/cli/test_decide_json.py

lowest: $(UV_STAMP)
	@$(UV) venv --quiet --clear --python $(BIN)/python $(LOWEST)
	@$(UV) pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[learn]' pytest==9.0.0 hypothesis==6.140.0
	@$(ONE_THREAD) $(LOWEST)/bin/python -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning $(LOWEST_TESTS)

# The documentation as a site: pages by role, and the API reference from docstrings; every link is checked.
site: $(STAMP)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@$(BIN)/python docs/check_links.py build/site /aquamend/
	@echo 'site: build/site/index.html'

# Source and wheel of both packages, and a decision made with the product alone in a fresh environment.
dist: $(STAMP)
	@rm -rf dist build/fresh
	@$(UV) build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist .
	@$(UV) build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist lab
	@$(UV) venv --quiet --python $(BIN)/python build/fresh
	@$(UV) pip install --quiet --python build/fresh/bin/python dist/aquamend-*.whl
	@build/fresh/bin/aquamend decide examples/pouring.yaml > /dev/null
	@ls dist

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo 'ruff format: run `make format`' >&2; exit 1; }
	@echo 'lint: clean'

format: $(STAMP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(STAMP)
	@$(BIN)/mypy

layers: $(STAMP)
	@$(BIN)/lint-imports --no-logo

pytest: $(STAMP)
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --dist worksteal $(PYTEST_ARGS)

bench: $(STAMP)
	@$(ONE_THREAD) $(BIN)/python bench/run.py $(BENCH)

results: $(STAMP)
	@for suite in $(if $(SUITES),$(SUITES),$$($(BIN)/python -c 'from aquamend_lab.benchmarks.catalogue import SUITES; print(*SUITES)')); do \
	  rm -rf results/$$suite && $(BIN)/aquamend bench $$suite --out results/$$suite --compress || exit 1; done
	@$(BIN)/python docs/make_results.py

# Meta-World brings another MuJoCo, so it has an environment of its own.
METAWORLD := .venv-metaworld
metaworld: $(UV_STAMP)
	@$(UV) venv --quiet --clear --python $(BIN)/python $(METAWORLD)
	@$(UV) pip install --quiet --python $(METAWORLD)/bin/python --require-hashes -r requirements/metaworld.txt
	@$(UV) pip install --quiet --python $(METAWORLD)/bin/python --no-deps --no-build-isolation --editable . --editable lab
	@rm -rf results/metaworld-v1
	@$(ONE_THREAD) $(METAWORLD)/bin/aquamend bench aquamend_lab.benchmarks.outside_suites:METAWORLD_SUITE --out results/metaworld-v1 --compress

viewer:
	@cd viewer && npm ci --silent && npm test --silent && npm run --silent build

# One version of each package for every Python (fewest forks), no registry address, no local path.
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

lock: $(UV_STAMP)
	@$(COMPILE) pyproject.toml lab/pyproject.toml --all-extras --no-emit-package aquamend --output-file requirements/runtime.txt
	@$(COMPILE) pyproject.toml lab/pyproject.toml --all-extras --no-emit-package aquamend --group dev --constraints requirements/runtime.txt --output-file requirements/dev.txt
	@$(COMPILE) requirements/uv.in --output-file requirements/uv.txt
	@$(COMPILE) --constraints requirements/dev.txt requirements/metaworld.in --output-file requirements/metaworld.txt
	@$(COMPILE) --no-deps requirements/outside.in --output-file requirements/outside.txt
	@echo 'lock: wrote requirements/runtime.txt, dev.txt, uv.txt, outside.txt and metaworld.txt'

clean:
	@rm -rf src/aquamend/decision/min_cut.kernel src/aquamend/files/problem.schema.json $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
