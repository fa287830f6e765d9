"""Files of meshes: VTK, XDMF, Gmsh and Exodus. Each format is a module that gives the variables of a file."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from raffia.data.readers.damage import naming
from raffia.data.readers.meshes import content, exodus, gmsh, pvd, vtk_hdf, vtk_legacy, vtk_xml, xdmf
from raffia.data.readers.meshes.structured import Lattice
from raffia.data.readers.variable import Variable

ALONE = (".vtu", ".vtp", ".vti", ".vtr", ".vts")
NAMING = (".pvtu", ".pvtp", ".pvti", ".pvtr", ".pvts", ".vtm")
LEADING, LED = (".xdmf", ".xmf", ".pvd", *NAMING), (".h5", ".hdf5", *ALONE, *NAMING)
"""Suffixes of files that name others, and of those that are named."""
VTK = {".vtk": vtk_legacy.content, ".vtkhdf": vtk_hdf.content} | dict.fromkeys((*ALONE, *NAMING), vtk_xml.content)
READERS: dict[str, Callable[[Path], dict[str, Variable]]] = {
    **{suffix: partial(content.variables, read=read) for suffix, read in VTK.items()},
    **dict.fromkeys(NAMING, partial(content.variables, read=vtk_xml.content, named_files=vtk_xml.named_files)),
    ".pvd": pvd.variables,
    ".msh": gmsh.variables,
    **dict.fromkeys((".xdmf", ".xmf"), xdmf.variables),
    **dict.fromkeys((".e", ".exo"), exodus.variables),
}
SUFFIXES = tuple(READERS)


def original(path: Path) -> content.Content | Lattice | None:
    """A file of VTK as it is, with cells that are not divided; None for other files."""
    if path.suffix.lower() not in VTK or not path.is_file():
        return None
    with naming(path):
        return VTK[path.suffix.lower()](path)
