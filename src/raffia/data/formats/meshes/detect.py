"""Which reader a file of a mesh has, by its name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from raffia.data.formats.meshes import content, exodus, gmsh, vtk_legacy, vtk_xml, xdmf
from raffia.data.formats.meshes.structured import Lattice
from raffia.data.formats.variable import Variable, guarded

READERS: dict[str, Callable[[Path], dict[str, Variable]]] = {
    ".vtk": partial(content.variables, parse=vtk_legacy.parse),
    **dict.fromkeys((".vtu", ".vtp", ".vti", ".vtr", ".vts"), partial(content.variables, parse=vtk_xml.parse)),
    ".msh": partial(content.variables, parse=gmsh.parse),
    **dict.fromkeys((".xdmf", ".xmf"), xdmf.variables),
    **dict.fromkeys((".e", ".exo"), exodus.variables),
}
SUFFIXES = tuple(READERS)


def original(path: Path) -> content.Content | Lattice | None:
    """A file of VTK as it is, with cells that are not divided; None for other files."""
    suffix = path.suffix.lower()
    if not suffix.startswith(".vt") or suffix not in READERS or not path.is_file():
        return None
    with guarded(path):
        return vtk_legacy.content(path) if suffix == ".vtk" else vtk_xml.content(path)
