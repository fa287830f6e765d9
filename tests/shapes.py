"""Shapes in signatures are checked while the tests run, by jaxtyping.

Its import hook checks all types of all functions, nested ones at every call of the outer one, and makes a fit take three times as
long. mypy checks types, so functions and dataclasses without shapes are left as they are.
"""

import ast

from beartype import beartype
from jaxtyping import _import_hook

KINDS = {"Bool", "Complex", "Float", "Inexact", "Int"}


def check(function, *_, **__):
    """What checks a call; under a name of its own, as bytecode is cached by it."""
    return beartype(function)


class ShapeTransformer(_import_hook.JaxtypingTransformer):
    """Decorate what has shapes in its annotations, or a name of the module that stands for some."""

    def visit_Module(self, node):
        aliases = [one for one in node.body if isinstance(one, ast.Assign) and self.has_shape(one.value)]
        self.names = KINDS | {target.id for one in aliases for target in one.targets}
        return super().visit_Module(node)

    def visit_ClassDef(self, node):
        fields = [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
        if any(map(self.has_shape, fields)):
            return super().visit_ClassDef(node)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node):
        if self.has_shape(node.args) or self.has_shape(node.returns):
            node.decorator_list.append(ast.copy_location(self._typechecker.get_ast(), node))
        return node

    names = KINDS

    def has_shape(self, annotation):
        return annotation is not None and any(
            isinstance(one, ast.Name) and one.id in self.names for one in ast.walk(annotation)
        )


def install():
    _import_hook.JaxtypingTransformer = ShapeTransformer
    _import_hook.install_import_hook("raffia", "tests.shapes.check")
