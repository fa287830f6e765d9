"""Examples in docstrings run, and print what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import raffia

ROOT = Path(raffia.__file__).parent
FILES = [file.relative_to(ROOT.parent) for file in sorted(ROOT.rglob("*.py")) if ">>> " in file.read_text()]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_examples_of_a_module_run(file):
    module = import_module(".".join(file.with_suffix("").parts))
    assert doctest.testmod(module).failed == 0
