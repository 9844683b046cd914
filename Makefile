# Two commands from a fresh clone do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: demo test test-all bench docs lint clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# An editable install: compiled modules are rebuilt on import when their source changed.
$(STAMP): pyproject.toml meson.build src/treebound/meson.build | $(BIN)/python
	$(BIN)/python -m pip install --quiet "meson-python>=0.17" "Cython>=3.0.10" ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	@touch $@

clean:
	rm -rf build dist $(VENV) docs/_build demo
