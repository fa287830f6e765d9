# make demo: set up and train a surrogate of Burgers' equation.   make test: set up and run every fast check.   make docs: build the site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test slow lint types bench docs clean

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

clean:
	rm -rf $(VENV) out build dist docs/gallery docs/reference/generated .mypy_cache .ruff_cache .pytest_cache
