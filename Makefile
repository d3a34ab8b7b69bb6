# One verb for every distribution of the repository. Each verb makes the environment it needs.

PYTHON ?= python3
# uv makes the environment where it is installed, pip otherwise; `make UV=` does without uv.
UV ?= $(shell command -v uv)
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
# Tests run in as many processes as there are cores, four at most: each imports, and with an empty cache compiles, anew.
PYTEST := $(BIN)/python -m pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal
PLUGINS := $(sort $(wildcard plugins/bnplug-*/pyproject.toml))
# Where the packages are whose imports are looked at, and the contracts that are our own.
empty :=
LINTED := $(subst $(empty) $(empty),:,$(strip .ci $(dir $(PLUGINS)) $(sort $(wildcard plugins/_template/*/))))

.PHONY: demo test test-long lint bench docs dist clean

# The stamp is newer than every pyproject.toml that the environment was made from.
.venv/stamp: pyproject.toml $(PLUGINS)
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "bnplug needs Python 3.11 or later; make PYTHON=..."'
# Modules are compiled as they are installed, as pip does: where Python may not write, every process would do it anew.
ifneq ($(UV),)
	UV_PROJECT_ENVIRONMENT=.venv $(UV) sync --quiet --inexact --compile-bytecode --python $(PYTHON)
else
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[all,test,lint]" $(foreach plugin,$(PLUGINS),--editable $(dir $(plugin)))
endif
	touch $@

demo: .venv/stamp
	$(BIN)/bnplug demo --output demo-output

test: .venv/stamp
	$(PYTEST)

# Everything, with what is marked as long, more examples and seeds, and enumerations whole.
test-long: .venv/stamp
	BNPLUG_LONG=1 $(PYTEST) -m ""

lint: .venv/stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=$(LINTED) $(BIN)/lint-imports
	$(BIN)/mypy

bench: .venv/stamp
	set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

# Each version in a folder of its own; docs/_build/index.html leads to the newest that is there.
docs: .venv/docs-stamp
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --write-all -d docs/_generated/doctrees docs \
	  docs/_build/$$($(BIN)/python -c "import bnplug; print(bnplug.__version__)")

# Wheels and sdists of everything in dist/, with their metadata checked, and tried in an empty environment.
dist: .venv/dist-stamp
	$(BIN)/python .ci/distributions.py build dist
	$(BIN)/python .ci/distributions.py check dist

.venv/dist-stamp: .venv/stamp
ifneq ($(UV),)
	UV_PROJECT_ENVIRONMENT=.venv $(UV) sync --quiet --inexact --python $(PYTHON) --extra release
else
	$(BIN)/python -m pip install --quiet --editable ".[release]"
endif
	touch $@

.venv/docs-stamp: .venv/stamp
ifneq ($(UV),)
	UV_PROJECT_ENVIRONMENT=.venv $(UV) sync --quiet --inexact --python $(PYTHON) --extra docs
else
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
endif
	touch $@

clean:
	rm -rf .venv demo-output docs/_build docs/_generated docs/auto_examples docs/api
