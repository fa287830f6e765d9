"""Meshes as the common programs write them: with document types, twice, in pieces, in blocks, at times, in HDF5, packed by LZ4."""

import struct
import sys

import h5py
import lz4.block
import meshio
import numpy as np
import pytest

from raffia import RaffiaError
from raffia.data import open_source, variables
from tests.data.mesh_examples import GRID_A, RING, SQUARES, A, K, Y, fastest_x, in_space, words, write_mesh
from tests.data.test_formats import SHARED

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/repro/files")


def piece(path, points, cells, fields, in_cells=()):
    """A .vtu file of triangles."""
    data = {"k": [np.asarray(in_cells)]} if len(in_cells) else {}
    meshio.write(path, meshio.Mesh(in_space(points), [("triangle", cells)], fields, data))


def vtk_file(kind, body):
    return f'<?xml version="1.0"?><VTKFile type="{kind}" version="1.0" byte_order="LittleEndian">{body}</VTKFile>'


def two_halves(folder, **more):
    """The ring in two files of four triangles each."""
    for i, cells in enumerate((RING[:4], RING[4:])):
        nodes = np.unique(cells)
        own = np.searchsorted(nodes, cells)
        piece(folder / f"half{i}.vtu", SQUARES[nodes], own, {"a": A[nodes]} | more, K[4 * i : 4 * i + 4])
    return ["half0.vtu", "half1.vtu"]


def test_a_document_type_is_passed_over_and_the_file_that_it_names_is_not_read(tmp_path):
    path = write_mesh("xdmf text", tmp_path)
    expected = variables(path)["a"].read()
    path.write_bytes(b'<?xml version="1.0"?><!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>' + path.read_bytes())
    np.testing.assert_array_equal(variables(path)["a"].read(), expected)


@needs_shared
def test_what_dolfinx_writes_is_read():
    found = variables(SHARED / "xdmf_dolfinx.xdmf")
    with h5py.File(SHARED / "xdmf_dolfinx.h5") as file:
        expected = [file[f"Function/u/{i}"][:, 0] for i in range(3)]
    np.testing.assert_array_equal(found["u"].read(), expected)
    assert found["time"].read().tolist() == [0, 0.5, 1]


def test_a_mesh_that_gmsh_writes_twice_is_read_once(tmp_path):
    path = write_mesh("gmsh 2.2 text", tmp_path)
    once = path.read_text()
    before = open_source(path, input="a", output="a").domain
    (tmp_path / "twice.msh").write_text(once[: once.index("$NodeData")] + once)
    after = open_source(tmp_path / "twice.msh", input="a", output="a").domain
    assert after == before
    assert after.volume == pytest.approx(8)


@needs_shared
def test_a_mesh_with_its_view_by_gmsh_has_its_area(tmp_path):
    domain = open_source(SHARED / "gmsh_own_41_twice.msh", input="u", output="u").domain
    assert domain.volume == pytest.approx(1)
    assert len(domain.cells) == 162


def test_exponents_of_fortran_are_numbers_in_text_of_vtk(tmp_path):
    path = write_mesh("vtk text", tmp_path)
    expected = variables(path)["a"].read()
    text = path.read_text()
    numbers = " ".join(f"{value:.17E}".replace("E", "D") for value in A)
    path.write_text(text.replace(words(A), numbers))
    assert "D-01" in path.read_text()
    np.testing.assert_array_equal(variables(path)["a"].read(), expected)


@pytest.mark.parametrize("folder", ["", "parts/"])
def test_pieces_in_files_of_their_own_are_one_mesh(folder, tmp_path):
    (tmp_path / folder).mkdir(exist_ok=True)
    names = two_halves(tmp_path / folder)
    body = "".join(f'<Piece Source="{folder}{name}"/>' for name in names)
    (tmp_path / "whole.pvtu").write_text(vtk_file("PUnstructuredGrid", f"<PUnstructuredGrid>{body}</PUnstructuredGrid>"))
    source = open_source(tmp_path / "whole.pvtu", input="a", output="k")
    assert source.output.volume == pytest.approx(8)
    np.testing.assert_array_equal(source.read(range(1))[1][0].numpy(), K)
    assert set(variables(tmp_path / "whole.pvtu")["a"].beside) == {tmp_path / folder / name for name in names}


def test_cells_of_neighbours_in_a_piece_are_left_out(tmp_path):
    for i, own in enumerate((range(4), range(4, 8))):
        ghosts = np.array([[0 if j in own else 1 for j in range(8)]], np.uint8)
        mesh = meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A}, {"k": [K], "vtkGhostType": list(ghosts)})
        meshio.write(tmp_path / f"half{i}.vtu", mesh)
    body = "".join(f'<Piece Source="half{i}.vtu"/>' for i in (0, 1))
    (tmp_path / "whole.pvtu").write_text(vtk_file("PUnstructuredGrid", f"<PUnstructuredGrid>{body}</PUnstructuredGrid>"))
    found = variables(tmp_path / "whole.pvtu")
    assert "vtkGhostType" not in found
    np.testing.assert_array_equal(found["k"].read()[0], K)


@pytest.mark.parametrize("parallel", [True, False])
def test_pieces_of_a_grid_are_one_grid(parallel, tmp_path):
    whole, pieces = 'WholeExtent="0 3 0 2 0 0" Origin="0 1 0" Spacing="1 0.5 1"', []
    for i, (first, last) in enumerate(((0, 1), (1, 3))):
        extent, values = f"{first} {last} 0 2 0 0", words(fastest_x(GRID_A[first : last + 1]))
        array = f'<PointData><DataArray type="Float64" Name="a" format="ascii">{values}</DataArray></PointData>'
        pieces.append(f'<Piece Extent="{extent}">{array}</Piece>')
        (tmp_path / f"part{i}.vti").write_text(vtk_file("ImageData", f"<ImageData {whole}>{pieces[-1]}</ImageData>"))
    sources = [f'<Piece Extent="{piece[15:26]}" Source="part{i}.vti"/>' for i, piece in enumerate(pieces)]
    kind, inner = ("PImageData", sources) if parallel else ("ImageData", pieces)
    path = tmp_path / ("whole.pvti" if parallel else "whole.vti")
    path.write_text(vtk_file(kind, f"<{kind} {whole}>{''.join(inner)}</{kind}>"))
    found = variables(path)
    np.testing.assert_array_equal(found["a"].read()[0], GRID_A)
    assert found["y"].read().tolist() == [1, 1.5, 2]
    path.write_text(vtk_file(kind, f"<{kind} {whole}>{inner[0] + inner[0]}</{kind}>"))
    with pytest.raises(RaffiaError, match="twice" if parallel else "leave out points"):
        variables(path)


def test_blocks_are_one_mesh_without_their_boundaries(tmp_path):
    names = two_halves(tmp_path)
    meshio.write(tmp_path / "inlet.vtu", meshio.Mesh(in_space(SQUARES[:2]), [("line", [[0, 1]])], {"p": A[:2]}))
    inner = f'<DataSet index="0" file="{names[0]}"/><Block index="1"><DataSet index="0" file="{names[1]}"/></Block>'
    body = f'<vtkMultiBlockDataSet>{inner}<DataSet index="2" file="inlet.vtu"/></vtkMultiBlockDataSet>'
    (tmp_path / "all.vtm").write_text(vtk_file("vtkMultiBlockDataSet", body))
    source = open_source(tmp_path / "all.vtm", input="a", output="k")
    assert source.output.volume == pytest.approx(8)
    np.testing.assert_array_equal(source.read(range(1))[1][0].numpy(), K)


@pytest.mark.parametrize(("spacing", "is_grid"), [("1 0.5 1", True), ("0.5 0.5 1", False)])
def test_blocks_of_grids_are_one_grid_if_they_fill_it_and_a_mesh_if_they_do_not(spacing, is_grid, tmp_path):
    for i, (first, last) in enumerate(((0, 1), (1, 3))):
        values = words(fastest_x(GRID_A[first : last + 1]))
        array = f'<PointData><DataArray type="Float64" Name="a" format="ascii">{values}</DataArray></PointData>'
        places = f'Origin="0 1 0" Spacing="{"1 0.5 1" if i else spacing}"'
        body = f'<ImageData {places}><Piece Extent="{first} {last} 0 2 0 0">{array}</Piece></ImageData>'
        (tmp_path / f"part{i}.vti").write_text(vtk_file("ImageData", body))
    body = '<vtkMultiBlockDataSet><DataSet file="part0.vti"/><DataSet file="part1.vti"/></vtkMultiBlockDataSet>'
    (tmp_path / "all.vtm").write_text(vtk_file("vtkMultiBlockDataSet", body))
    found = variables(tmp_path / "all.vtm")
    if is_grid:
        assert found["a"].dims == ("sample", "x", "y")
        np.testing.assert_array_equal(found["a"].read()[0], GRID_A)
    else:
        expected = np.concatenate([fastest_x(GRID_A[:2]), fastest_x(GRID_A[1:])])
        np.testing.assert_array_equal(found["a"].read()[0], expected)
        assert found["points"].shape == (15, 2)


def test_a_series_of_times_is_a_trajectory_on_one_mesh(tmp_path):
    rng = np.random.default_rng(0)
    states = rng.standard_normal((5, 8))
    sets = ""
    for i in rng.permutation(5):
        piece(tmp_path / f"u_{i}.vtu", SQUARES, RING, {"u": states[i]})
        sets += f'<DataSet timestep="{i / 4}" group="" part="0" file="u_{i}.vtu"/>'
    (tmp_path / "u.pvd").write_text(vtk_file("Collection", f"<Collection>{sets}</Collection>"))
    found = variables(tmp_path / "u.pvd")
    np.testing.assert_array_equal(found["u"].read(), states)
    np.testing.assert_array_equal(found["u"].read(slice(2, 4)), states[2:4])
    assert found["time"].read().tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert found["u"].dims == ("time", "point")
    piece(tmp_path / "u_3.vtu", SQUARES + 1, RING, {"u": states[3]})
    with pytest.raises(RaffiaError, match=r"u.pvd: the mesh or u changes in u_3"):
        variables(tmp_path / "u.pvd")["u"].read()


@pytest.mark.parametrize(
    "name", ["../secret.vtu", "/etc/passwd", "link.vtu", "sub/link.vtu", "", "none.vtu", "a\0b", "x" * 5000]
)
@pytest.mark.parametrize("kind", ["pvd", "vtm", "pvtu"])
def test_files_elsewhere_are_not_read(kind, name, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    piece(tmp_path / "secret.vtu", SQUARES, RING, {"u": A})
    (here / "link.vtu").symlink_to(tmp_path / "secret.vtu")
    (here / "sub").symlink_to(tmp_path)
    (tmp_path / "link.vtu").write_bytes((tmp_path / "secret.vtu").read_bytes())
    bodies = {
        "pvd": ("Collection", f'<Collection><DataSet timestep="0" file="{name}"/></Collection>'),
        "vtm": ("vtkMultiBlockDataSet", f'<vtkMultiBlockDataSet><DataSet file="{name}"/></vtkMultiBlockDataSet>'),
        "pvtu": ("PUnstructuredGrid", f'<PUnstructuredGrid><Piece Source="{name}"/></PUnstructuredGrid>'),
    }
    (here / f"d.{kind}").write_text(vtk_file(*bodies[kind]))
    with pytest.raises(RaffiaError, match=rf"d.{kind}"):
        variables(here / f"d.{kind}")


def test_a_file_of_blocks_that_names_itself_is_refused(tmp_path):
    body = '<vtkMultiBlockDataSet><DataSet index="0" file="d.vtm"/></vtkMultiBlockDataSet>'
    (tmp_path / "d.vtm").write_text(vtk_file("vtkMultiBlockDataSet", body))
    with pytest.raises(RaffiaError, match="other files of blocks"):
        variables(tmp_path / "d.vtm")


def vtkhdf_mesh(path, parts=((0, 4), (4, 8))):
    """The ring in parts, as VTK writes its own HDF5 files."""
    with h5py.File(path, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"], root.attrs["Type"] = (1, 0), np.bytes_("UnstructuredGrid")
        nodes = [np.unique(RING[first:last]) for first, last in parts]
        root["NumberOfPoints"] = [len(own) for own in nodes]
        root["NumberOfCells"] = [last - first for first, last in parts]
        root["NumberOfConnectivityIds"] = [3 * (last - first) for first, last in parts]
        root["Points"] = np.concatenate([in_space(SQUARES)[own] for own in nodes])
        root["Connectivity"] = np.concatenate(
            [np.searchsorted(own, RING[first:last]).ravel() for own, (first, last) in zip(nodes, parts, strict=True)]
        )
        root["Offsets"] = np.concatenate([3 * np.arange(last - first + 1) for first, last in parts])
        root["Types"] = np.full(8, 5, np.uint8)
        root["PointData/a"] = np.concatenate([A[own] for own in nodes])
        root["PointData/y"] = np.concatenate([Y[own] for own in nodes])
        root["CellData/k"] = K


@pytest.mark.parametrize("parts", [((0, 8),), ((0, 4), (4, 8))])
def test_a_mesh_of_vtk_in_hdf5_is_that_mesh(parts, tmp_path):
    vtkhdf_mesh(tmp_path / "m.vtkhdf", parts)
    source = open_source(tmp_path / "m.vtkhdf", input="a", output="k")
    assert source.output.volume == pytest.approx(8)
    np.testing.assert_array_equal(source.read(range(1))[1][0].numpy(), K)
    if len(parts) == 1:
        np.testing.assert_array_equal(source.read(range(1))[0][0].numpy(), A)
        assert variables(tmp_path / "m.vtkhdf")["y"].shape == (1, 8, 3)


def test_a_grid_of_vtk_in_hdf5_is_that_grid(tmp_path):
    with h5py.File(tmp_path / "g.vtkhdf", "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Type"] = np.bytes_("ImageData")
        root.attrs["WholeExtent"], root.attrs["Origin"] = (0, 3, 0, 2, 0, 0), (0.0, 1.0, 0.0)
        root.attrs["Spacing"], root.attrs["Direction"] = (1.0, 0.5, 1.0), np.eye(3).ravel()
        root["PointData/a"] = GRID_A.T[None]
    found = variables(tmp_path / "g.vtkhdf")
    np.testing.assert_array_equal(found["a"].read()[0], GRID_A)
    assert found["y"].read().tolist() == [1, 1.5, 2]


@pytest.mark.parametrize("kind", ["OverlappingAMR", None])
def test_other_data_of_vtk_in_hdf5_are_refused_with_a_word(kind, tmp_path):
    with h5py.File(tmp_path / "m.vtkhdf", "w") as file:
        root = file.create_group("VTKHDF" if kind else "other")
        root.attrs["Type"] = np.bytes_(kind or "UnstructuredGrid")
    with pytest.raises(RaffiaError, match=r"m.vtkhdf.*(OverlappingAMR|VTKHDF)"):
        variables(tmp_path / "m.vtkhdf")


def packed_by_lz4(path, size=24):
    """The ring with a field in blocks of so many bytes, each packed by LZ4."""
    raw = A.tobytes()
    pieces = [raw[i : i + size] for i in range(0, len(raw), size)]
    packed = [lz4.block.compress(one, store_size=False) for one in pieces]
    head = struct.pack(f"<{3 + len(packed)}I", len(packed), size, len(pieces[-1]) % size, *map(len, packed))
    array = '<DataArray type="Float64" Name="a" format="appended" offset="0"/>'
    extent = 'Extent="0 7 0 0 0 0"'
    body = f'<ImageData Whole{extent} Origin="0 0 0" Spacing="1 1 1"><Piece {extent}><PointData>{array}</PointData>'
    start = '<VTKFile type="ImageData" byte_order="LittleEndian" header_type="UInt32" compressor="vtkLZ4DataCompressor">'
    end = b"</AppendedData></VTKFile>"
    path.write_bytes(
        f'{start}{body}</Piece></ImageData><AppendedData encoding="raw">_'.encode() + head + b"".join(packed) + end
    )


@pytest.mark.parametrize("size", [24, 32, 64])
def test_arrays_packed_by_lz4_are_read(size, tmp_path):
    packed_by_lz4(tmp_path / "a.vti", size)
    np.testing.assert_array_equal(variables(tmp_path / "a.vti")["a"].read()[0], A)


def test_without_the_package_lz4_it_is_named(tmp_path, monkeypatch):
    packed_by_lz4(tmp_path / "a.vti")
    monkeypatch.setitem(sys.modules, "lz4.block", None)
    with pytest.raises(RaffiaError, match="pip install lz4"):
        variables(tmp_path / "a.vti")


def test_a_folder_of_xdmf_files_has_a_sample_in_each_and_their_hdf5_files_belong_to_them(tmp_path):
    for i in range(6):
        meshio.write(tmp_path / f"run{i}.xdmf", meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A + i, "u": A * i}))
    assert (tmp_path / "run0.h5").is_file()
    data = open_source(tmp_path, input="a", output="u").dataset()
    np.testing.assert_allclose(data.a.numpy(), [A + i for i in range(6)])
    np.testing.assert_allclose(data.y.numpy(), [A * i for i in range(6)])


def test_a_folder_of_xdmf_and_other_files_is_told_the_pattern_of_xdmf(tmp_path):
    meshio.write(tmp_path / "run.xdmf", meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A}))
    (tmp_path / "other.h5").write_bytes((tmp_path / "run.h5").read_bytes())
    with pytest.raises(RaffiaError, match=r"\*.xdmf'"):
        variables(tmp_path)
