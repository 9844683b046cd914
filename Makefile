# Two commands from a fresh clone do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
export PATH := $(abspath $(BIN)):$(PATH)
# Remembered by the build, so that an import can compile again without this PATH.
export CYTHON := $(abspath $(BIN))/cython
# One thread a process: the tests run side by side already.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-all bench study docs lint doctest unit clean

demo: $(STAMP)
	OMP_NUM_THREADS=$(JOBS) $(BIN)/treebound bench demo --jobs $(JOBS) --output demo

test: lint doctest unit docs

# What is heavy: Spark, ray, SHAP, LaTeX and a second scikit-learn.
test-all: test $(VENV)/.installed-heavy
	$(BIN)/python -m pytest tests -m heavy

bench: $(STAMP)
	for name in theory oracle growth predict pruning; do \
	  OMP_NUM_THREADS=$(JOBS) $(BIN)/python benchmarks/$$name.py || exit 1; done

# The whole study of the README: both protocols on all 25 data sets.
study: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/study.py --jobs $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	# Read the sources as they lie there, not through the editable install.
	MESONPY_EDITABLE_SKIP=$(wildcard $(CURDIR)/build/cp*) PYTHONPATH=src $(BIN)/lint-imports

doctest: $(STAMP)
	$(BIN)/python -m pytest -q --doctest-modules src/treebound README.md docs --doctest-glob="*.md" --doctest-glob="*.rst"

unit: $(STAMP)
	$(BIN)/python -m pytest -q -n $(JOBS) tests -m "not heavy"

# Runs every example of the gallery that has changed since the last build.
docs: $(STAMP)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf build dist $(VENV) docs/_build docs/gallery docs/api/generated demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# An editable install: compiled modules are rebuilt on import when their source changed.
$(STAMP): pyproject.toml meson.build src/treebound/meson.build | $(BIN)/python
	$(BIN)/python -m pip install --quiet "meson-python>=0.17" "Cython>=3.0.10" ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	@touch $@

$(VENV)/.installed-heavy: $(STAMP)
	$(BIN)/python -m pip install --quiet setuptools wheel  # PySpark comes as a source package
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev,heavy]"
	@touch $@
