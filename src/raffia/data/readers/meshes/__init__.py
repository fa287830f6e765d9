"""Files of meshes: VTK, XDMF, Gmsh and Exodus. Each format is a module that gives the variables of a file."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from raffia.data.readers.damage import naming
from raffia.data.readers.meshes import exodus, gmsh, vtk_hdf, vtk_legacy, vtk_xml, xdmf
from raffia.data.readers.meshes.content import Content, Lattice
from raffia.data.readers.variable import Read, Variable, reread

ALONE = (".vtu", ".vtp", ".vti", ".vtr", ".vts")
NAMING = (".pvtu", ".pvtp", ".pvti", ".pvtr", ".pvts", ".vtm")
LEADING, LED = (".xdmf", ".xmf", ".pvd", *NAMING), (".h5", ".hdf5", *ALONE, *NAMING)
"""Suffixes of files that name others, and of those that are named."""
VTK: Mapping[str, Callable[[Path], Content | Lattice]]
VTK = {".vtk": vtk_legacy.content, ".vtkhdf": vtk_hdf.content} | dict.fromkeys((*ALONE, *NAMING), vtk_xml.content)


def _vtk(path: Path, *_: Path) -> dict[str, Variable]:
    """The arrays of a file, and of those that it names."""
    return VTK[path.suffix.lower()](path).variables(path)


READERS: dict[str, Read] = {
    **dict.fromkeys(VTK, partial(reread, _vtk)),
    **dict.fromkeys(NAMING, lambda path: reread(_vtk, path, *vtk_xml.named_files(path))),
    ".pvd": vtk_xml.series,
    ".msh": gmsh.variables,
    **dict.fromkeys((".xdmf", ".xmf"), xdmf.variables),
    **dict.fromkeys((".e", ".exo"), exodus.variables),
}
SUFFIXES = tuple(READERS)


def original(path: Path) -> Content | Lattice | None:
    """A file of VTK as it is, with cells that are not divided; None for other files."""
    if path.suffix.lower() not in VTK or not path.is_file():
        return None
    with naming(path):
        return VTK[path.suffix.lower()](path)
