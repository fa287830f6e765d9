"""A file imports only from lower layers; features, problems and data never import one another."""

import ast
from pathlib import Path

import raffia

ROOT = Path(raffia.__file__).parent
LAYERS = {
    "errors": 0, "progress": 0, "files": 1, "spaces": 1, "measures": 2, "dataset": 2, "features": 3, "problems": 3, "data": 3,
    "regression": 4, "checks": 5, "metrics": 5, "kernel": 5, "io": 5, "uncertainty": 5, "theory": 5, "tuning": 5,
    "resolution": 5, "scaling": 5, "preparation": 5.5, "saving": 5.5, "error_bars": 5.6, "streaming": 5.7, "distributed": 5.8,
    "model": 6, "contest": 6.5, "plotting": 7, "surrogate": 7, "testing": 7, "papers": 8, "bench": 8, "report": 8,
    "reproduce": 8.5, "cli": 9, "__init__": 10, "__main__": 10,
}  # fmt: skip


OPTIONAL = {"rich", "optuna", "triton", "h5py", "zarr", "dask", "distributed"}  # the core runs without them


def layered_imports():
    for file in ROOT.rglob("*.py"):
        here = file.relative_to(ROOT).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "raffia":
                parts = node.module.split(".")
                for name in [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]:
                    yield file, here, name


def test_every_module_has_a_layer():
    found = {file.relative_to(ROOT).with_suffix("").parts[0] for file in ROOT.rglob("*.py")}
    assert found == set(LAYERS)


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
    users = {name: set() for name in ("typer", "rich", "matplotlib", "optuna", "triton", "h5py", "zarr", "dask", "distributed")}
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            module = (
                node.module
                if isinstance(node, ast.ImportFrom)
                else node.names[0].name
                if isinstance(node, ast.Import)
                else None
            )
            if module and module.split(".")[0] in users:
                users[module.split(".")[0]].add(file.relative_to(ROOT).with_suffix("").parts[0])
    assert users == {
        "typer": {"cli"},
        "rich": {"cli", "progress"},
        "matplotlib": {"plotting", "report", "reproduce"},
        "optuna": {"tuning"},
        "triton": {"features"},
        "h5py": {"data"},
        "zarr": {"data"},
        "dask": {"distributed"},
        "distributed": {"distributed"},
    }
