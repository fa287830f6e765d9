# make demo: set up and train a surrogate of Burgers' equation.   make test: set up and run every fast check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test slow lint types bench clean

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
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

bench: $(STAMP)
	$(BIN)/python benchmarks/assembly.py
	$(BIN)/python benchmarks/memory.py

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache
