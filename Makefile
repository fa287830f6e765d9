# make demo: set up and train a surrogate of Burgers' equation.   make test: set up and run every fast check.   make docs: build the site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test slow lint types bench docs dist test-wheel test-oldest test-newest clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/raffia demo burgers --output out

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: $(STAMP) lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

bench: $(STAMP)
	$(BIN)/python benchmarks/assembly.py
	$(BIN)/python benchmarks/memory.py

# every example of the gallery runs; a warning, or a link that leads nowhere, is an error
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs,serve,export,inverse]'
	$(BIN)/python -m pytest -q -m 'slow or not slow' tests/test_docs.py
	MPLBACKEND=agg $(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs
	@echo "open out/docs/index.html"

# the wheel and the source archive of the last commit, built in two folders: both must be byte for byte the same
ENV := out/env
dist:
	rm -rf dist out/dist && mkdir -p out/dist/one out/dist/two
	$(PYTHON) -m venv $(ENV)/tools
	$(ENV)/tools/bin/python -m pip install --quiet -c constraints.txt build twine mypy pyright
	for copy in one two; do git archive HEAD | tar -x -C out/dist/$$copy && PIP_CONSTRAINT=$(CURDIR)/constraints.txt \
	  SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(ENV)/tools/bin/python -m build --quiet out/dist/$$copy || exit 1; done
	diff -r out/dist/one/dist out/dist/two/dist && cp -r out/dist/one/dist dist
	$(ENV)/tools/bin/twine check --strict dist/*

# the wheel in an empty environment, without extras: times, commands, examples, types of a user's script, tests
TEST_TOOLS := pytest hypothesis beartype jsonschema meshio hatchling
test-wheel: dist
	$(PYTHON) -m venv --clear $(ENV)/wheel
	$(ENV)/wheel/bin/python -m pip install --quiet -c constraints.txt dist/*.whl
	rm -rf out/wheel && mkdir -p out/wheel && cp tests/user_script.py out/wheel && echo '{}' > out/wheel/pyrightconfig.json
	cd out/wheel && export PATH=$(CURDIR)/$(ENV)/wheel/bin:$$PATH MPLBACKEND=agg && \
	  timeout 1.5 python -c 'import raffia' && timeout 1 python -m raffia --help > help.txt && python user_script.py && \
	  ../env/tools/bin/mypy --strict --config-file= --python-executable $$(which python) user_script.py && \
	  ../env/tools/bin/pyright --pythonpath $$(which python) user_script.py && \
	  for example in 01 10 16; do python ../../examples/plot_$${example}_*.py || exit 1; done && raffia demo burgers
	$(ENV)/wheel/bin/python -m pip install --quiet -c constraints.txt $(TEST_TOOLS)
	$(ENV)/wheel/bin/python -m pytest -q -k 'not serve' \
	  tests/test_wheel.py tests/test_api.py tests/test_io.py tests/test_versions.py tests/test_metrics.py

# the lowest versions that pyproject.toml allows, and the newest. Smaller: make test-oldest TESTS=tests/spaces
# pyparsing of that day: a newer one warns about matplotlib 3.8, and tests of figures take warnings for errors
TORCH ?= $(shell grep ^torch== constraints.txt)
TESTS ?= tests
EXTRAS := data,distributed,inverse,constraints,serve
test-oldest: dist
	sed -nE '/^dev =|^docs =/,/^]/d; s/^ *"([A-Za-z0-9-]+)(\[.*\])?>=([0-9.]+).*/\1==\3/p' pyproject.toml | \
	  grep -vE '^(torch|onnx|botorch|cuqipy|pymc)' > out/oldest.txt
	$(PYTHON) -m venv --clear $(ENV)/oldest
	$(ENV)/oldest/bin/python -m pip install --quiet -c out/oldest.txt '$(TORCH)' "$$(ls dist/*.whl)[$(EXTRAS)]" $(TEST_TOOLS) 'pyparsing<3.3'
	OMP_NUM_THREADS=1 $(ENV)/oldest/bin/python -m pytest -q $(TESTS)

test-newest: dist
	$(PYTHON) -m venv --clear $(ENV)/newest
	$(ENV)/newest/bin/python -m pip install --quiet '$(TORCH)' "$$(ls dist/*.whl)[$(EXTRAS)]" $(TEST_TOOLS)
	OMP_NUM_THREADS=1 $(ENV)/newest/bin/python -m pytest -q $(TESTS)

clean:
	rm -rf $(VENV) out build dist docs/gallery docs/reference/generated .mypy_cache .ruff_cache .pytest_cache
