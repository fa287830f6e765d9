"""How the tree is built, counted: inheritance, privacy, sizes."""

import ast
from pathlib import Path

import raffia

ROOT = Path(raffia.__file__).parent
TREES = {file.relative_to(ROOT): ast.parse(file.read_text()) for file in sorted(ROOT.rglob("*.py"))}
CLASSES = {node.name: node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _own_bases(node):
    names = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    names = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in names]
    return [name for name in names if name in CLASSES]


def test_classes_have_one_level_of_our_own_inheritance_at_most():
    deep = [name for name, node in CLASSES.items() if any(_own_bases(CLASSES[base]) for base in _own_bases(node))]
    assert deep == []


def _private(name):
    return name.startswith("_") and not name.startswith("__")


def test_no_module_reads_a_private_name_of_another_modules_object():
    """A private attribute is read where it is defined: as an attribute of self or cls, as a method, or as a function of the module."""
    wrong = []
    for path, tree in TREES.items():
        nodes = list(ast.walk(tree))
        defined = {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
        defined |= {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
        defined |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        defined |= {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        for node in nodes:
            if isinstance(node, ast.Attribute) and _private(node.attr) and node.attr not in defined:
                wrong.append(f"{path}:{node.lineno} {node.attr}")
            if isinstance(node, ast.ImportFrom) and any(_private(alias.name) for alias in node.names):
                wrong.append(f"{path}:{node.lineno} imports a private name")
    assert wrong == []


def test_the_model_is_one_class_in_one_file():
    assert _own_bases(CLASSES["RandomFeatureModel"]) == []


def test_few_modules_lie_outside_the_rooms():
    assert len([path for path in TREES if len(path.parts) == 1]) <= 14


def test_no_module_is_long():
    assert {str(path): lines for path in TREES if (lines := len((ROOT / path).read_text().splitlines())) > 400} == {}


def test_polymorphism_is_by_methods():
    calls = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert sum(getattr(call.func, "id", "") == "isinstance" for call in calls) < 130


def test_any_has_no_other_name():
    aliases = [
        f"{path}:{node.lineno}"
        for path, tree in TREES.items()
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Name) and node.value.id == "Any"
    ]
    assert aliases == []
