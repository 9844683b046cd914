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

.PHONY: demo test test-all test-oldest wheel-test sanitize coverage bench study docs lint doctest unit clean

# The main job first: a tree from a table in the repository; then a small study.
demo: $(STAMP)
	mkdir -p demo
	$(BIN)/treebound fit examples/parcels.csv --schema examples/parcels.toml --output demo/model.json --report demo/tree.html --cv 5
	$(BIN)/treebound show demo/model.json
	OMP_NUM_THREADS=$(JOBS) $(BIN)/treebound study run --sets sklearn:iris sklearn:wine sklearn:breast_cancer --jobs $(JOBS) --store demo/results.sqlite
	$(BIN)/treebound study report demo/results.sqlite --table accuracy cost
	$(BIN)/treebound study report demo/results.sqlite --as html --output demo/study.html --force
	@echo "The tree, its estimated error and its certificate: file://$(CURDIR)/demo/tree.html"
	@echo "The small study:                                   file://$(CURDIR)/demo/study.html"

test: lint doctest unit docs

# What is heavy: Spark, SHAP, LaTeX, the oldest versions of what we depend on, and a wheel.
test-all: test $(VENV)/.installed-heavy test-oldest wheel-test
	$(BIN)/python -m pytest tests -m heavy

# The suite once against the oldest versions that pyproject.toml admits, in an environment of its own.
OLDEST := .venv-oldest
test-oldest:
	rm -rf $(OLDEST) && $(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tools/oldest.py plot study theory dask onnx edit > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet -r $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet "meson-python>=0.17" "Cython>=3.0.10" ninja \
	  pytest pytest-xdist hypothesis psutil jsonschema networkx PyYAML polars httpx
	PATH="$(abspath $(OLDEST))/bin:$$PATH" CYTHON=$(abspath $(OLDEST))/bin/cython \
	  $(OLDEST)/bin/python -m pip install --quiet --no-deps --no-build-isolation .
	$(OLDEST)/bin/python -m pip check
	$(OLDEST)/bin/python -m pytest -q -n $(JOBS) tests -m "not heavy and not browser"

# A wheel, installed into an empty environment and tried there without a compiler.
WHEEL := build/wheel
wheel-test:
	rm -rf $(WHEEL) && mkdir -p $(WHEEL) && $(PYTHON) -m venv $(WHEEL)/empty
	env -u CYTHON $(WHEEL)/empty/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEEL) .
	$(WHEEL)/empty/bin/python -m pip install --quiet --only-binary :all: pytest hypothesis psutil \
	  "$$(echo $(WHEEL)/treebound-*.whl)[plot,study]"
	env -i PATH="$(abspath $(WHEEL))/empty/bin" OMP_NUM_THREADS=1 WITHOUT_COMPILER=1 \
	  python -m pytest -q -p no:cacheprovider tests/wheel.py

# Data races, by the thread sanitizer of GCC (Linux): the kernels once more, instrumented.
# It takes a quarter of an hour.
SANITIZED := build/sanitized
SANITIZER_TESTS ?= tests/growing/test_threads.py tests/growing/test_graph_threads.py tests/tree/test_route.py
sanitize: $(STAMP)
	rm -rf $(SANITIZED)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target $(SANITIZED) . \
	  $(addprefix --config-settings=setup-args=,-Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Ddebug=true)
	gcc -shared -fPIC -o $(SANITIZED)/clockwait.so tools/clockwait.c
	MESONPY_EDITABLE_SKIP=$(wildcard $(CURDIR)/build/cp*) PYTHONPATH=$(CURDIR)/$(SANITIZED) \
	  TSAN_OPTIONS="suppressions=$(CURDIR)/tools/sanitizer.txt die_after_fork=0 report_signal_unsafe=0 exitcode=66" \
	  LD_PRELOAD="$$(gcc -print-file-name=libtsan.so) $(CURDIR)/$(SANITIZED)/clockwait.so" \
	  $(BIN)/python -m pytest -q -s -p no:cacheprovider -p no:xdist $(SANITIZER_TESTS)

# How much of the code the tests run; the floor is in pyproject.toml.
coverage: $(STAMP)
	$(BIN)/python -m pytest -q -n $(JOBS) tests -m "not heavy" --cov --cov-report=term:skip-covered

bench: $(STAMP)
	for name in theory oracle growth predict pruning scale command_line; do \
	  OMP_NUM_THREADS=$(JOBS) $(BIN)/python benchmarks/$$name.py || exit 1; done

# The whole study of the README: both protocols on all 25 data sets.
study: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/study.py --jobs $(JOBS)

lint: $(STAMP)
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/size.py > /dev/null
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
$(STAMP): pyproject.toml meson.build | $(BIN)/python
	$(BIN)/python -m pip install --quiet "meson-python>=0.17" "Cython>=3.0.10" ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	@touch $@

$(VENV)/.installed-heavy: $(STAMP)
	$(BIN)/python -m pip install --quiet setuptools wheel  # PySpark comes as a source package
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev,heavy]"
	@touch $@
