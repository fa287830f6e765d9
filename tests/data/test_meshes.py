"""Files of meshes: what their formats' own library, or a hand, wrote comes back, on the nodes and cells it was written on."""

import re

import meshio
import numpy as np
import pytest
import torch

from raffia import Channels, Domain, Mesh, RaffiaError
from raffia.data import open_source, variables
from tests.data.mesh_examples import (
    AXES,
    GRID_A,
    GRID_K,
    GRID_Y,
    ON_GRIDS,
    ON_QUADS,
    ON_TRIANGLES,
    RING,
    SQUARES,
    A,
    K,
    Xml,
    Y,
    bent,
    in_space,
    write_mesh,
)  # fmt: skip


def is_text(kind):
    return kind.endswith("text") and not kind.startswith(("vtk polygons", "vtk text", "vtk 5.1", "gmsh"))


@pytest.mark.parametrize("kind", [*ON_TRIANGLES, "xdmf", "xdmf times"])
def test_fields_nodes_and_cells_come_back(kind, tmp_path):
    found = variables(write_mesh(kind, tmp_path))
    rough = {"rtol": 1e-9} if is_text(kind) else {"rtol": 0}
    np.testing.assert_allclose(found["points"].read(), SQUARES, **rough)
    np.testing.assert_array_equal(found["cells"].read(), RING)
    y = found["y"].read()[0] if found["y"].read().ndim == 3 else np.stack([found[n].read()[0] for n in ("yX", "yY", "y")], 1)
    for values, array in ((A, found["a"].read()[0]), (Y, y), (K, found["k"].read()[0])):
        np.testing.assert_allclose(array, values, **rough)
    times = found["a"].shape[0]
    assert times == (2 if "exodus" in kind or "times" in kind else 1)
    if times > 1:
        assert found["time"].read().tolist() == [0.0, 0.5]
        np.testing.assert_allclose(found["k"].read(slice(1, 2))[0], 2 * K)


@pytest.mark.parametrize("kind", [*ON_TRIANGLES, "xdmf", "xdmf times"])
def test_the_space_of_a_field_is_the_mesh_of_the_file_with_its_hole(kind, tmp_path):
    source = open_source(write_mesh(kind, tmp_path), input="a", output="k")
    ring = Mesh(torch.from_numpy(SQUARES), cells=torch.from_numpy(RING))
    assert torch.allclose(source.domain.nodes, ring.nodes, rtol=1e-9)
    assert torch.equal(source.domain.cells, ring.cells)
    assert source.domain.volume == pytest.approx(8)
    centres = source.output_space
    assert torch.allclose(centres.nodes, torch.from_numpy(SQUARES[RING].mean(1)), rtol=1e-9)
    assert centres.weights.tolist() == pytest.approx([1.5, 0.5] * 4)
    assert any("divided into 8 triangles" in note for note in source.notes)
    assert any("centres of the cells" in note for note in source.notes)


def test_pieces_of_a_file_are_joined(tmp_path):
    found = variables(write_mesh("vtu appended", tmp_path))
    points, cells = found["points"].read(), found["cells"].read()
    np.testing.assert_array_equal(points[cells], SQUARES[RING])
    np.testing.assert_array_equal(found["a"].read()[0][cells], A[RING])
    np.testing.assert_array_equal(found["k"].read()[0], K)


@pytest.mark.parametrize("kind", ON_GRIDS)
def test_equispaced_grids_are_grids_with_the_first_axis_along_x(kind, tmp_path):
    found = variables(write_mesh(kind, tmp_path))
    np.testing.assert_array_equal(found["a"].read()[0], GRID_A)
    np.testing.assert_array_equal(found["y"].read()[0], GRID_Y)
    np.testing.assert_array_equal(found["k"].read()[0], GRID_K)
    for name, x in zip(("x", "mesh y"), AXES, strict=True):  # y is a field
        np.testing.assert_allclose(found[name].read(), x)
        np.testing.assert_allclose(found[f"{name[-1]} centre"].read(), (x[1:] + x[:-1]) / 2)
    source = open_source(write_mesh(kind, tmp_path), input="a", output="y", periodic=False)
    assert source.domain == Domain(2, periodic=False, extent=(3.0, 1.0))
    assert source.output == Channels(source.domain, 3)


@pytest.mark.parametrize("kind", ON_QUADS)
def test_grids_of_bent_lines_are_meshes_of_triangles(kind, tmp_path):
    source = open_source(write_mesh(kind, tmp_path), input="a", output="k")
    nodes = np.swapaxes(bent(), 0, 1).reshape(-1, 2)
    np.testing.assert_allclose(source.domain.nodes.numpy(), nodes)
    assert len(source.domain.cells) == 2 * 3 * 2
    assert source.domain.volume == pytest.approx(3.0)  # shear keeps areas
    np.testing.assert_array_equal(source.read(range(1))[0][0].numpy(), GRID_A.T.reshape(-1))
    np.testing.assert_array_equal(source.read(range(1))[1][0].numpy(), GRID_K.T.reshape(-1))


def test_a_rectilinear_grid_that_is_not_equispaced_is_a_mesh(tmp_path):
    xml = Xml("ascii")
    axes = (np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    lines = "".join(xml.array(name, x) for name, x in zip("xyz", axes, strict=True))
    data = f"<PointData>{xml.array('a', np.arange(12.0))}</PointData>"
    xml.write(
        tmp_path / "a.vtr", "RectilinearGrid", f'<Piece Extent="0 2 0 1 0 1">{data}<Coordinates>{lines}</Coordinates></Piece>'
    )
    source = open_source(tmp_path / "a.vtr", input="a", output="a")
    assert source.domain.volume == pytest.approx(8)
    assert source.domain.nodes[:4].tolist() == [[0, 0, 0], [1, 0, 0], [4, 0, 0], [0, 2, 0]]


KINDS = {
    "line": ([[0, 0, 0], [2, 1, 0]], 5**0.5),
    "line3": ([[0, 0, 0], [2, 0, 1], [1, 0, 0.5]], 5**0.5),
    "triangle6": ([[0, 0, 0], [2, 0, 0], [0, 2, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], 2.0),
    "quad": ([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]], 2.0),
    "quad8": ([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0]], 4.0),
    "quad9": ([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0], [1, 1, 0]], 4.0),
    "tetra": ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], 1 / 6),
    "pyramid": ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], 1 / 3),
    "wedge": ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 2], [0, 1, 2]], 1.0),
    "hexahedron": ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 3], [1, 0, 3], [1, 1, 3], [0, 1, 3]], 3.0),
    "tetra10": (
        [[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
        8 / 6,
    ),
}


@pytest.mark.parametrize("suffix", [".vtu", ".msh"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_cell_have_its_volume_and_all_its_nodes(kind, suffix, tmp_path):
    points, volume = KINDS[kind]
    mesh = meshio.Mesh(np.array(points, float), [(kind, [range(len(points))])], {"a": np.arange(float(len(points)))})
    meshio.write(tmp_path / f"m{suffix}", mesh, file_format="gmsh" if suffix == ".msh" else "vtu")
    found = variables(tmp_path / f"m{suffix}")
    assert len(found["points"].read()) == len(points)
    space = open_source(tmp_path / f"m{suffix}", input="a", output="a").domain
    assert space.volume == pytest.approx(volume)


def test_boundary_edges_are_no_cells_and_points_in_no_cell_are_left_out_with_a_note(tmp_path):
    points = np.concatenate([in_space(SQUARES), [[9.0, 9.0, 0.0]]])
    blocks = [("line", [[0, 1], [1, 2]]), ("triangle", RING), ("vertex", [[8]])]
    data = {"k": [np.full(2, -1.0), K, np.full(1, -2.0)]}
    meshio.write(tmp_path / "m.vtu", meshio.Mesh(points, blocks, {"a": np.append(A, 99.0)}, data))
    source = open_source(tmp_path / "m.vtu", input="a", output="k")
    assert source.domain == Mesh(torch.from_numpy(SQUARES), cells=torch.from_numpy(RING))
    a, k = source.read(range(1))
    np.testing.assert_array_equal(a[0].numpy(), A)
    np.testing.assert_array_equal(k[0].numpy(), K)
    assert any("1 of 9 points are in no cell" in note for note in source.notes)


def test_cells_of_several_kinds_keep_the_order_of_their_values(tmp_path):
    quad = [[4, 5, 6, 7]]
    mesh = meshio.Mesh(in_space(SQUARES), [("triangle", RING[:3]), ("quad", quad), ("triangle", RING[3:])], {"a": A})
    mesh.cell_data["k"] = [K[:3], np.array([7.0]), K[3:]]
    for name in ("m.vtu", "m.vtk"):
        meshio.write(tmp_path / name, mesh)
        source = open_source(tmp_path / name, input="a", output="k")
        assert source.domain.volume == pytest.approx(9)
        np.testing.assert_array_equal(source.read(range(1))[1][0].numpy(), [*K[:3], 7.0, *K[3:]])
        assert source.output.nodes[3].tolist() == pytest.approx([1.5, 1.5])


def test_a_surface_in_space_has_the_areas_of_its_triangles(tmp_path):
    tilted = np.concatenate([SQUARES, SQUARES[:, :1]], axis=1)
    meshio.write(tmp_path / "m.vtk", meshio.Mesh(tilted, [("triangle", RING)], {"a": A}))
    source = open_source(tmp_path / "m.vtk", input="a", output="a")
    assert source.domain.volume == pytest.approx(8 * 2**0.5)


def test_points_without_cells_are_scattered_nodes(tmp_path):
    meshio.write(tmp_path / "m.vtu", meshio.Mesh(in_space(SQUARES), [("vertex", np.arange(8)[:, None])], {"a": A}))
    source = open_source(tmp_path / "m.vtu", input="a", output="a")
    assert source.domain == Mesh(torch.from_numpy(SQUARES))


def test_fields_that_have_the_names_of_nodes_or_cells_are_told_from_them(tmp_path):
    meshio.write(tmp_path / "m.vtu", meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"points": A, "cells": 2 * A}))
    found = variables(tmp_path / "m.vtu")
    np.testing.assert_array_equal(found["points"].read()[0], A)
    np.testing.assert_array_equal(found["cells"].read()[0], 2 * A)
    np.testing.assert_array_equal(found["mesh points"].read(), SQUARES)
    source = open_source(tmp_path / "m.vtu", input="points", output="cells")
    assert source.domain.volume == source.output_space.volume == pytest.approx(8)


def test_a_field_that_is_given_at_points_and_in_cells_is_two(tmp_path):
    meshio.write(tmp_path / "m.vtu", meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"p": A}, {"p": [K]}))
    found = variables(tmp_path / "m.vtu")
    np.testing.assert_array_equal(found["p"].read()[0], A)
    np.testing.assert_array_equal(found["p in cells"].read()[0], K)


def test_views_of_gmsh_are_matched_by_the_labels_of_nodes_and_are_times(tmp_path):
    def view(name, time, labels, values):
        rows = "\n".join(f"{label} {value!r}" for label, value in zip(labels, values, strict=True))
        return f'$NodeData\n1\n"{name}"\n1\n{time}\n3\n0\n1\n{len(labels)}\n{rows}\n$EndNodeData\n'

    points = "\n".join(f"{10 * i + 7} {x} {y} 0" for i, (x, y) in enumerate(SQUARES))
    cells = "\n".join(f"{i + 1} 2 2 0 0 {' '.join(str(10 * j + 7) for j in cell)}" for i, cell in enumerate(RING))
    order = [3, 1, 0, 7, 6, 2, 5, 4]
    text = f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n{points}\n$EndNodes\n$Elements\n8\n{cells}\n$EndElements\n"
    text += view("u", 1.5, [10 * i + 7 for i in order], 2 * A[order]) + view("u", 0.5, [10 * i + 7 for i in range(8)], A)
    (tmp_path / "m.msh").write_text(re.sub(r"np\.float64\(([^)]*)\)", r"\1", text))
    found = variables(tmp_path / "m.msh")
    np.testing.assert_array_equal(found["u"].read(), [A, 2 * A])
    assert found["time"].read().tolist() == [0.5, 1.5]
    assert found["u"].dims == ("time", "point")


def test_a_file_that_changes_is_read_anew(tmp_path):
    path = write_mesh("vtu", tmp_path)
    variable = variables(path)["a"]
    np.testing.assert_array_equal(variable.read()[0], A)
    meshio.write(path, meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A + 1.0, "more": A}))
    np.testing.assert_array_equal(variable.read()[0], A + 1)


DOCTYPE = b'<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("vtu", lambda text: text.replace(b"<VTKFile", DOCTYPE + b"<VTKFile", 1), "entities"),
        ("xdmf text", lambda text: DOCTYPE + text, "entities"),
        ("xdmf text", lambda text: (DOCTYPE + text).decode().encode("utf-16"), "entities"),
        ("xdmf text", lambda text: b"<a>" * 10**6 + text, "marks of XML"),
        ("vtu", lambda text: text.replace(b"vtkZLibDataCompressor", b"vtkZstdDataCompressor"), "vtkZstdDataCompressor"),
        ("vtu", lambda text: text.replace(b'type="UnstructuredGrid"', b'type="HyperTreeGrid"'), "HyperTreeGrid, not one of"),
        (
            "vtu appended",
            lambda text: text.replace(b'NumberOfCells="5"', b'NumberOfCells="6"'),
            "40 bytes are there, not 48",
        ),
        ("vtk", lambda text: text.replace(b"POINTS 8", b"POINTS 9000000000"), "bytes follow"),
        ("vtk text", lambda text: text.replace(b"POINTS 8", b"POINTS 9000000000"), "numbers are claimed"),
        ("vtk", lambda text: text.replace(b"UNSTRUCTURED_GRID", b"FIELD"), "its data set is field"),
        ("vtk image", lambda text: text.replace(b"DIMENSIONS 4 3", b"DIMENSIONS 400000000 3"), "values where the grid has"),
        ("vti", lambda text: text.replace(b'Extent="2 5 ', b'Extent="2 5000000000 '), "are there, not"),
        ("gmsh 2.2 text", lambda text: text.replace(b"2.2 0 8", b"4.0 0 8"), "text of Gmsh's version 4.0"),
        ("gmsh 2.2 text", lambda text: text.replace(b"2.2 0 8", b"2.2 1 8"), "binary of Gmsh's version 2.2"),
        ("xdmf text", lambda text: text.replace(b'Format="XML"', b'Format="Binary"'), "lie in other files"),
        ("xdmf", lambda text: text.replace(b"a.h5", b"/a.h5"), "no such plain file beside it"),
        ("xdmf", lambda text: text.replace(b"a.h5", b"../a.h5"), "no such plain file beside it"),
        ("xdmf", lambda text: text.replace(b"a.h5", b"b.h5"), "no such plain file beside it"),
        ("xdmf text", lambda text: text.replace(b'TopologyType="Triangle"', b'TopologyType="3DSMesh"'), "topology is 3dsmesh"),
    ],
)
def test_what_is_not_read_is_refused_with_the_reason(kind, change, words, tmp_path):
    path = write_mesh(kind, tmp_path)
    changed = change(path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    with pytest.raises(RaffiaError, match=words) as error:
        variables(path)
    assert path.name in str(error.value)


def test_xdmf_reads_no_file_that_a_link_leads_to(tmp_path):
    path = write_mesh("xdmf", tmp_path)
    (tmp_path / "elsewhere").mkdir()
    beside = path.with_suffix(".h5")
    beside.rename(tmp_path / "elsewhere" / "a.h5")
    beside.symlink_to(tmp_path / "elsewhere" / "a.h5")
    with pytest.raises(RaffiaError, match="no such plain file beside it"):
        variables(path)


def test_the_size_of_what_xdmf_holds_is_that_of_the_file_beside_it(tmp_path, monkeypatch):
    path = write_mesh("xdmf", tmp_path)
    variable = variables(path)["a"]
    assert variable.beside == (path.with_suffix(".h5"),)
    monkeypatch.setattr("raffia.data.readers.variable.MODEST", 0)
    monkeypatch.setattr("raffia.data.readers.variable.COMPRESSION", 1)
    path.with_suffix(".xdmf").write_bytes(path.read_bytes()[:10])  # it is open already
    np.testing.assert_array_equal(variable.read()[0], A)
    path.with_suffix(".h5").write_bytes(b"")
    with pytest.raises(RaffiaError, match="more than such a file can hold"):
        variable.read()


def test_xdmf_whose_mesh_changes_is_refused(tmp_path):
    path = write_mesh("xdmf text", tmp_path)
    text = path.read_text()
    grid = text[text.index("<Grid") : text.index("</Grid>") + 7]
    moved = grid.replace("3.0", "3.5").replace("3e", "3.5e").replace("3.", "3.5", 1)
    collection = f'<Grid GridType="Collection" CollectionType="Temporal">{grid}{moved}</Grid>'
    path.write_text(text.replace(grid, collection))
    assert moved != grid
    with pytest.raises(RaffiaError, match="its mesh changes from one time to another"):
        variables(path)
