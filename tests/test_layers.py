"""A file imports only from lower layers; features, problems and data never import one another."""

import ast
import re
from pathlib import Path

import raffia

ROOT = Path(raffia.__file__).parent
TABLE = (Path(__file__).parent.parent / "docs/design.md").read_text().split("## Layers")[1].split("## ")[0]
LAYERS = {
    name: int(layer)
    for layer, rooms in re.findall(r"^\| (\d+) \| (.*) \|$", TABLE, flags=re.MULTILINE)
    for name in re.findall(r"`(\w+)`", rooms)
} | {"__init__": 99, "__main__": 99}


HEAVY = {
    "typer": {"cli"},
    "rich": {"cli", "progress"},
    "matplotlib": {"pages", "plotting", "reproduce"},
    "jinja2": {"pages"},
    "h5py": {"data"},
    "zarr": {"data"},
    "pandas": {"data"},
    "dask": {"model"},
    "distributed": {"model"},
    "arviz": {"inverse"},
    "daqp": {"regression"},
    "aiohttp": {"serve"},
    "orjson": {"serve"},
}
"""Packages that take long to import, and the rooms that may."""
OPTIONAL = (HEAVY.keys() - {"typer", "matplotlib", "jinja2"}) | {
    "apebench",
    "cuqi",
    "pytensor",
    "botorch",
    "gpytorch",
}  # the core runs without them


def layered_imports():
    for file in ROOT.rglob("*.py"):
        here = file.relative_to(ROOT).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "raffia":
                parts = node.module.split(".")
                for name in [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]:
                    yield file, here, name


def test_every_module_has_a_layer_and_there_are_ten_at_most():
    found = {file.relative_to(ROOT).with_suffix("").parts[0] for file in ROOT.rglob("*.py")}
    assert found == set(LAYERS)
    assert len(set(LAYERS.values()) - {99}) <= 10


def test_imports_only_go_down():
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file, here, name in layered_imports()
        if name in LAYERS and name != here and LAYERS[name] >= LAYERS[here] and here != "__init__"
    ]
    assert wrong == []


def test_no_import_hides_in_a_function():
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in ROOT.rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _package(node) not in OPTIONAL
    ]
    assert wrong == []


def _package(node):
    return (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]


def test_heavy_packages_are_imported_in_one_place_only():
    users = {name: set() for name in HEAVY}
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            module = (
                node.module
                if isinstance(node, ast.ImportFrom)
                else node.names[0].name
                if isinstance(node, ast.Import)
                else node.args[0].value  # optional("h5py", …) imports it where it is installed
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "optional"
                else None
            )
            if module and module.split(".")[0] in users:
                users[module.split(".")[0]].add(file.relative_to(ROOT).with_suffix("").parts[0])
    assert users == HEAVY
