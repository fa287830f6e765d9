"""One small file of every kind of mesh, by meshio where it writes them, else by hand: `a` and `y` at points, `k` in cells."""

import base64
import os
import re
from pathlib import Path

import meshio
import netCDF4
import numpy as np

RNG = np.random.default_rng(0)
SQUARES = np.array([[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]], dtype=float)
RING = np.array([(0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6), (3, 0, 4), (3, 4, 7)])
"""A square with a square hole: its area is 8."""
A, Y, K = RNG.standard_normal(8), RNG.standard_normal((8, 3)), RNG.standard_normal(8)

SHAPE = (4, 3)
AXES = (np.linspace(0, 3, 4), np.linspace(1, 2, 3))
GRID_A, GRID_Y, GRID_K = RNG.standard_normal(SHAPE), RNG.standard_normal((*SHAPE, 3)), RNG.standard_normal((3, 2))
"""On a grid, the first axis x."""


def in_space(points):
    return np.concatenate([points, np.zeros((len(points), 1))], axis=1)


def ring_mesh():
    return meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A, "y": Y}, {"k": [K]})


def by_meshio(**options):
    def write(path):
        meshio.write(path, ring_mesh(), **options)
        text = path.read_bytes()
        path.write_bytes(re.sub(rb"np\.float64\(([^)]*)\)", rb"\1", text))  # meshio writes these for newer versions of NumPy

    return write


def words(values):
    return " ".join(repr(number) for number in np.asarray(values).reshape(-1).tolist())


def fastest_x(values):
    """Values on a grid, as VTK lists them."""
    return np.moveaxis(values, (0, 1), (1, 0)).reshape(-1, *values.shape[2:])


def legacy(path, dataset, a, y, k, binary=False):
    def numbers(values, dtype):
        values = np.asarray(values)
        return (values.astype(dtype).tobytes() if binary else words(values).encode()) + b"\n"

    lines = [b"# vtk DataFile Version 3.0\nby hand\n", b"BINARY\n" if binary else b"ASCII\n"]
    lines += [part if isinstance(part, bytes) else numbers(*part) for part in dataset]
    lines += [f"POINT_DATA {len(a)}\nSCALARS a double 1\nLOOKUP_TABLE default\n".encode(), numbers(a, ">f8")]
    lines += [b"VECTORS y double\n", numbers(y, ">f8")]
    lines += [f"CELL_DATA {len(k)}\nFIELD FieldData 1\nk 1 {len(k)} double\n".encode(), numbers(k, ">f8")]
    path.write_bytes(b"".join(lines))


def legacy_polydata(path, binary=True):
    cells = np.concatenate([np.full((8, 1), 3), RING], axis=1)
    points = (in_space(SQUARES), ">f8")
    dataset = [b"DATASET POLYDATA\nPOINTS 8 double\n", points, b"POLYGONS 8 32\n", (cells, ">i4")]
    legacy(path, dataset, A, Y, K, binary)


def legacy_image(path):
    dataset = [b"DATASET STRUCTURED_POINTS\nDIMENSIONS 4 3 1\nORIGIN 0 1 0\nSPACING 1 0.5 1\n"]
    legacy(path, dataset, fastest_x(GRID_A), fastest_x(GRID_Y), fastest_x(GRID_K))


def legacy_rectilinear(path):
    dataset = [b"DATASET RECTILINEAR_GRID\nDIMENSIONS 4 3 1\nX_COORDINATES 4 double\n", (AXES[0], ">f8")]
    dataset += [b"Y_COORDINATES 3 double\n", (AXES[1], ">f8"), b"Z_COORDINATES 1 double\n", ([0.0], ">f8")]
    legacy(path, dataset, fastest_x(GRID_A), fastest_x(GRID_Y), fastest_x(GRID_K), binary=True)


def bent():
    """Points of a structured grid whose lines are not straight, (4, 3, 2)."""
    x, y = np.meshgrid(*AXES, indexing="ij")
    return np.stack([x, y + 0.1 * x**2], axis=-1)


def legacy_structured(path):
    dataset = [b"DATASET STRUCTURED_GRID\nDIMENSIONS 4 3 1\nPOINTS 12 double\n", (in_space(fastest_x(bent())), ">f8")]
    legacy(path, dataset, fastest_x(GRID_A), fastest_x(GRID_Y), fastest_x(GRID_K))


class Xml:
    """VTK's XML, with values as text, in base64, or appended raw or in base64."""

    def __init__(self, how, header="UInt32"):
        self.how, self.header, self.appended = how, header, b""

    def array(self, name, values):
        values = np.ascontiguousarray(values)
        kind = {"f8": "Float64", "i8": "Int64", "u1": "UInt8"}[values.dtype.str[1:]]
        many = values.shape[1] if values.ndim > 1 else 1
        start = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{many}" format='
        size = np.array([values.nbytes], {"UInt32": "<u4", "UInt64": "<u8"}[self.header]).tobytes()
        if self.how == "ascii":
            return f'{start}"ascii">{words(values)}</DataArray>'
        if self.how == "binary":
            return f'{start}"binary">{base64.b64encode(size + values.tobytes()).decode()}</DataArray>'
        piece = size + values.tobytes()
        at, self.appended = len(self.appended), self.appended + (piece if self.how == "raw" else base64.b64encode(piece))
        return f'{start}"appended" offset="{at}"/>'

    def write(self, path, kind, body, **attributes):
        told = "".join(f' {name}="{value}"' for name, value in attributes.items())
        text = (
            f'<?xml version="1.0"?><VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="{self.header}">'
        )
        text += f"<{kind}{told}>{body}</{kind}>"
        encoding = "raw" if self.how == "raw" else "base64"
        tail = f'<AppendedData encoding="{encoding}">_'.encode() + self.appended + b"</AppendedData>" if self.appended else b""
        path.write_bytes(text.encode() + tail + b"</VTKFile>")

    def data(self, a, y, k):
        at_points = f"<PointData>{self.array('a', a)}{self.array('y', y)}</PointData>"
        return f"{at_points}<CellData>{self.array('k', k)}</CellData>"

    def on_grid(self):
        return self.data(fastest_x(GRID_A), fastest_x(GRID_Y), fastest_x(GRID_K))


def vtu_appended(path):
    """In two pieces, of five and three triangles, each with all points of its own."""
    xml, body = Xml("raw", "UInt64"), ""
    for cells in (RING[:5], RING[5:]):
        ends, types = 3 * np.arange(1, len(cells) + 1), np.full(len(cells), 5, np.uint8)
        kept = np.unique(cells)
        corners = xml.array("connectivity", np.searchsorted(kept, cells).reshape(-1))
        body += f'<Piece NumberOfPoints="{len(kept)}" NumberOfCells="{len(cells)}">'
        body += f"<Points>{xml.array('Points', in_space(SQUARES)[kept])}</Points>"
        body += f"<Cells>{corners}{xml.array('offsets', ends)}{xml.array('types', types)}</Cells>"
        number = np.flatnonzero((RING[:, None] == cells).all(2).any(1))
        body += xml.data(A[kept], Y[kept], K[number]) + "</Piece>"
    xml.write(path, "UnstructuredGrid", body)


def vtp(path):
    xml = Xml("binary")
    polys = xml.array("connectivity", RING.reshape(-1)) + xml.array("offsets", 3 * np.arange(1, 9))
    body = f'<Piece NumberOfPoints="8" NumberOfPolys="8"><Points>{xml.array("Points", in_space(SQUARES))}</Points>'
    xml.write(path, "PolyData", body + f"<Polys>{polys}</Polys>{xml.data(A, Y, K)}</Piece>")


def vti(path):
    xml = Xml("base64")
    body = f'<Piece Extent="2 5 0 2 0 0">{xml.on_grid()}</Piece>'
    xml.write(path, "ImageData", body, WholeExtent="2 5 0 2 0 0", Origin="-2 1 0", Spacing="1 0.5 1")


def vtr(path):
    xml = Xml("ascii")
    lines = "".join(xml.array(name, x) for name, x in zip("xyz", (*AXES, np.zeros(1)), strict=True))
    body = f'<Piece Extent="0 3 0 2 0 0">{xml.on_grid()}<Coordinates>{lines}</Coordinates></Piece>'
    xml.write(path, "RectilinearGrid", body)


def vts(path):
    xml = Xml("raw")
    points = xml.array("Points", in_space(fastest_x(bent())))
    body = f'<Piece Extent="0 3 0 2 0 0">{xml.on_grid()}<Points>{points}</Points></Piece>'
    xml.write(path, "StructuredGrid", body)


def exodus(path, kind="NETCDF4"):
    with netCDF4.Dataset(path, "w", format=kind) as file:
        sizes = {"num_nodes": 8, "num_dim": 2, "time_step": 2, "first": 5, "second": 3, "corners": 3, "letters": 33, "nodal": 4}
        for name, size in {**sizes, "one": 1}.items():
            file.createDimension(name, size)
        for axis, values in zip("xy", SQUARES.T, strict=True):
            file.createVariable(f"coord{axis}", "f8", ("num_nodes",))[:] = values
        for number, (dim, cells) in enumerate((("first", RING[:5]), ("second", RING[5:])), 1):
            block = file.createVariable(f"connect{number}", "i4", (dim, "corners"))
            block[:] = cells + 1
            block.elem_type = "TRI3"
            values = file.createVariable(f"vals_elem_var1eb{number}", "f8", ("time_step", dim))
            values[:] = np.stack([K[:5], 2 * K[:5]] if number == 1 else [K[5:], 2 * K[5:]])
        file.createVariable("time_whole", "f8", ("time_step",))[:] = [0.0, 0.5]
        for key, names, dim in (("nod", ["a", "yX", "yY", "y"], "nodal"), ("elem", ["k"], "one")):
            letters = np.array([list(name.ljust(33, "\0")) for name in names], "S1")
            file.createVariable(f"name_{key}_var", "S1", (dim, "letters"))[:] = letters
        for number, values in enumerate((A, Y[:, 0], Y[:, 1], Y[:, 2]), 1):
            file.createVariable(f"vals_nod_var{number}", "f8", ("time_step", "num_nodes"))[:] = np.stack([values, 2 * values])


def exodus_classic(path):
    exodus(path, "NETCDF3_64BIT_OFFSET")


def xdmf_times(path):
    before = Path.cwd()
    os.chdir(path.parent)  # meshio writes the values into the working folder
    try:
        with meshio.xdmf.TimeSeriesWriter(path.name) as writer:
            writer.write_points_cells(in_space(SQUARES), [("triangle", RING)])
            for time, factor in ((0.0, 1.0), (0.5, 2.0)):
                writer.write_data(time, point_data={"a": factor * A, "y": factor * Y}, cell_data={"k": [factor * K]})
    finally:
        os.chdir(before)


ON_TRIANGLES = {
    "vtk": (by_meshio(), ".vtk"),
    "vtk 4.2": (by_meshio(file_format="vtk42"), ".vtk"),
    "vtk text": (by_meshio(file_format="vtk42", binary=False), ".vtk"),
    "vtk 5.1 text": (by_meshio(binary=False), ".vtk"),
    "vtk polygons": (legacy_polydata, ".vtk"),
    "vtk polygons text": (lambda path: legacy_polydata(path, binary=False), ".vtk"),
    "vtu": (by_meshio(), ".vtu"),
    "vtu by lzma": (by_meshio(compression="lzma"), ".vtu"),
    "vtu not packed": (by_meshio(compression=None), ".vtu"),
    "vtu text": (by_meshio(binary=False), ".vtu"),
    "vtp": (vtp, ".vtp"),
    "gmsh": (by_meshio(file_format="gmsh"), ".msh"),
    "gmsh text": (by_meshio(file_format="gmsh", binary=False), ".msh"),
    "gmsh 2.2 text": (by_meshio(file_format="gmsh22", binary=False), ".msh"),
    "xdmf text": (by_meshio(data_format="XML"), ".xdmf"),
    "exodus": (exodus, ".e"),
    "exodus classic": (exodus_classic, ".exo"),
}
ON_GRIDS = {
    "vtk image": (legacy_image, ".vtk"),
    "vtk rectilinear": (legacy_rectilinear, ".vtk"),
    "vti": (vti, ".vti"),
    "vtr": (vtr, ".vtr"),
}
ON_QUADS = {"vtk structured": (legacy_structured, ".vtk"), "vts": (vts, ".vts")}
IN_PIECES = {"vtu appended": (vtu_appended, ".vtu")}
BESIDE = {"xdmf": (by_meshio(), ".xdmf"), "xdmf times": (xdmf_times, ".xdmf")}
"""With values in a file beside them."""
ALONE = ON_TRIANGLES | ON_GRIDS | ON_QUADS | IN_PIECES
MESHES = ALONE | BESIDE


def write_mesh(kind: str, folder: Path) -> Path:
    writer, suffix = MESHES[kind]
    path = folder / f"a{suffix}"
    writer(path)
    return path
