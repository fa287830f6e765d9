"""A hundred and more ways to spoil files: each is read as before, or a question says what to pass; none is read wrongly.

Every set is spoilt in every way that applies to it, then read twice: by itself, and as test data of a model of the set that it was.
"""

import re
from dataclasses import dataclass, field, replace

import h5py
import numpy as np
import pytest
import scipy.io
import torch
import xarray

import raffia
from raffia import RaffiaError
from raffia.data import open_source
from tests.data.test_source import SHARED

RNG = np.random.default_rng(7)
START = RNG.bit_generator.state
N = 30


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order():
    RNG.bit_generator.state = START


@dataclass(frozen=True)
class Set:
    """Arrays of a file with their names, and what they mean: inputs and outputs as raffia should read them, and where they are."""

    arrays: dict
    input: str
    output: str
    places: tuple = ()  # names of coordinates: of the axes of grids one by one, or of nodes
    nodes: bool = False
    options: dict = field(default_factory=dict)

    def with_arrays(self, **arrays):
        return replace(self, arrays=self.arrays | arrays)

    @property
    def grids(self):
        """The arrays that are functions at these places."""
        at = len(self.arrays[self.places[0]]) if self.places else 0
        return [name for name in (self.input, self.output) if self.arrays[name].ndim > 1 and at in self.arrays[name].shape[1:]]


def curves(x, n=N):
    return np.sin(RNG.uniform(1, 3, (n, 1)) * x + RNG.uniform(0, 3, (n, 1))) + RNG.standard_normal((n, 1))


def line():
    x = np.linspace(2, 5, 40)
    a = curves(x)
    return Set({"a": a, "u": np.cumsum(a, 1) / 40, "x": x}, "a", "u", ("x",))


def plane():
    y, x = np.linspace(0, 2, 13), np.linspace(-1, 1, 21)
    a = curves(y)[:, :, None] * np.exp(x) + curves(x)[:, None]
    return Set({"f": a, "sol": a**2, "y": y, "x": x}, "f", "sol", ("y", "x"))


def scattered():
    nodes, mu = RNG.random((50, 2)), RNG.random((N, 3))
    return Set({"mu": mu, "u": np.sin(3 * mu[:, :2] @ nodes.T) + mu[:, 2:], "nodes": nodes}, "mu", "u", ("nodes",), nodes=True)


def between_nodes():
    nodes = RNG.random((50, 2))
    a = np.sin(RNG.standard_normal((N, 2)) @ nodes.T + RNG.random((N, 1)))
    return Set({"a": a, "u": a**2, "nodes": nodes}, "a", "u", ("nodes",), nodes=True)


def table():
    x = RNG.random((N, 4))
    return Set({"inputs": x, "outputs": x @ RNG.random((4, 2))}, "inputs", "outputs")


def channels():
    x = np.linspace(0, 1, 40)
    a = np.stack([curves(x), curves(x)], -1)
    return Set({"a": a, "u": a.sum(-1), "x": x}, "a", "u", ("x",))


def elastic():
    held = scipy.io.loadmat(SHARED / "public/elastic/linear_elastic_data.mat")
    arrays = {"F": held["F"][:40, 0], "u": held["Ux"][:40, :, 0], "X": held["X"]}
    return Set(arrays, "F", "u", ("X",), nodes=True, options={"input": "F", "output": "u"})


def burgers():
    folder = SHARED / "public/burgers256"
    a, u = (torch.load(folder / f"{name}_test.pt", weights_only=True) for name in ("initial_conditions", "burgers_solutions"))
    return Set({"a": a.detach().numpy()[:, 0], "u": u.detach().numpy()[:, 0], "x": np.arange(256) / 256}, "a", "u", ("x",))


def airfoil():
    held = {
        name: np.load(SHARED / f"public/airfoil_transonic/{name}.npy")
        for name in ("params", "snapshots_p_airfoil", "coords_airfoil")
    }
    arrays = {"params": held["params"], "u": held["snapshots_p_airfoil"], "coords": held["coords_airfoil"].T.copy()}
    return Set(arrays, "params", "u", ("coords",), nodes=True, options={"input": "params", "output": "u"})


def flow():
    time, vx, pts = (np.load(SHARED / f"public/unsteady_tri/{name}.npy") for name in ("time", "snapshots_vx", "pts"))
    arrays = {"time": time.astype(float), "u": vx[:, ::8], "pts": pts[::8, :2]}
    return Set(arrays, "time", "u", ("pts",), nodes=True, options={"input": "time", "output": "u"})


SYNTHETIC = {
    "line": line,
    "plane": plane,
    "scattered": scattered,
    "between nodes": between_nodes,
    "table": table,
    "channels": channels,
}
PUBLIC = {"elastic": elastic, "burgers": burgers, "airfoil": airfoil, "flow": flow} if SHARED.is_dir() else {}
SETS = SYNTHETIC | PUBLIC

SAME, ASKED = "same", "asked"


@dataclass(frozen=True)
class Spoilt:
    """A set after a mutation, and how its samples and nodes are those of the set before."""

    set: Set
    rows: np.ndarray | slice = field(default_factory=lambda: slice(None))
    nodes: np.ndarray | None = None
    options: dict = field(default_factory=dict)
    kind: str = "npz"
    scale: float = 1.0  # of coordinates


def reverse(axis):
    """Store an axis the other way round, coordinates too."""

    def spoil(s):
        if s.nodes or axis >= len(s.places):
            return None
        changed = {name: np.flip(s.arrays[name], 1 + axis) for name in s.grids}
        return Spoilt(s.with_arrays(**changed, **{s.places[axis]: s.arrays[s.places[axis]][::-1]}))

    return spoil


def reverse_both(s):
    both = [reverse(axis) for axis in (0, 1)]
    return both[1](both[0](s).set) if len(s.places) == 2 else None


def permute_axes(s):
    """Store the axes of outputs in another order than those of inputs."""
    return Spoilt(s.with_arrays(**{s.output: np.swapaxes(s.arrays[s.output], 1, 2)})) if len(s.places) == 2 else None


def permute_all_axes(s):
    """Store all axes in another order: the training takes them as they are, but tests must be turned."""
    if len(s.places) != 2:
        return None
    changed = {name: np.swapaxes(s.arrays[name], 1, 2) for name in s.grids}
    return Spoilt(s.with_arrays(**changed), options={"swapped": True})


def shuffle_samples(s):
    rows = RNG.permutation(len(s.arrays[s.input]))
    return Spoilt(s.with_arrays(**{name: s.arrays[name][rows] for name in (s.input, s.output)}), rows=rows)


def permute_nodes(s):
    """Store nodes in another order."""
    if not s.nodes:
        return None
    nodes = RNG.permutation(len(s.arrays[s.places[0]]))
    changed = {name: s.arrays[name][:, nodes] for name in s.grids}
    return Spoilt(s.with_arrays(**changed, **{s.places[0]: s.arrays[s.places[0]][nodes]}), nodes=nodes)


def scale_coordinates(s):
    """Write coordinates in other units."""
    return Spoilt(s.with_arrays(**{name: 1000 * s.arrays[name] for name in s.places}), scale=1000.0) if s.places else None


def shift_coordinates(s):
    """Move the origin by one."""
    return Spoilt(s.with_arrays(**{name: 1 + s.arrays[name] for name in s.places})) if s.places else None


def add_nan(name):
    def spoil(s):
        values = s.arrays[getattr(s, name)].astype(float, order="C")
        values.reshape(-1)[values.size // 2 + 3] = np.nan
        return Spoilt(s.with_arrays(**{getattr(s, name): values}))

    return spoil


def one_row_short(name):
    return lambda s: Spoilt(s.with_arrays(**{getattr(s, name): s.arrays[getattr(s, name)][:-1]}))


def samples_last(s):
    changed = {name: np.moveaxis(s.arrays[name], 0, -1) for name in (s.input, s.output)}
    return Spoilt(s.with_arrays(**changed), options={"turned": True})


def samples_last_as_said(s):
    return replace(samples_last(s), options={"turned": True, "samples_axis": -1})


def outputs_in_columns(s):
    return Spoilt(s.with_arrays(**{s.output: np.moveaxis(s.arrays[s.output], 0, -1)}), options={"turned": True})


def meaningless_names(s):
    names = {s.input: "q1", s.output: "q2"}
    if s.places and not s.nodes:
        names |= {name: f"k{i}" for i, name in enumerate(s.places)}
    renamed = {names.get(name, name): values for name, values in s.arrays.items()}
    return Spoilt(replace(s, arrays=renamed, input="q1", output="q2", options={}), options={"renamed": True, "no places": True})


def misleading_names(s):
    """The outputs first, with names that say nothing."""
    renamed = {"q1": s.arrays[s.output], "q2": s.arrays[s.input]}
    return Spoilt(
        replace(s, arrays=renamed, input="q2", output="q1", options={}, places=()), options={"renamed": True}, kind="h5"
    )


def single_axis(s):
    return Spoilt(s.with_arrays(**{s.output: s.arrays[s.output][:, None]}))


def column_of_coordinates(s):
    return Spoilt(s.with_arrays(**{name: s.arrays[name][:, None] for name in s.places})) if s.places and not s.nodes else None


def extra_arrays(s):
    extra = {
        "xlimits": RNG.random((3, 2)),
        "flux": RNG.random((4, 2)),
        "seed": np.array(3),
        "energy": RNG.random(7),
        "x_bnds": RNG.random((40, 2)),
    }
    return Spoilt(s.with_arrays(**extra))


def other_order_of_arrays(s):
    return Spoilt(replace(s, arrays=dict(reversed(s.arrays.items()))))


def as_kind(kind):
    return lambda s: Spoilt(s, kind=kind)


def in_two_files(s):
    return Spoilt(s, kind="two")


def a_parameter_less(s):
    parameters = s.arrays[s.input]
    return (
        Spoilt(s.with_arrays(**{s.input: parameters[:, :-1]})) if parameters.ndim == 2 and 1 < parameters.shape[1] < 9 else None
    )


MUTATIONS = {
    "first axis reversed": reverse(0), "second axis reversed": reverse(1), "both axes reversed": reverse_both,
    "axes of outputs permuted": permute_axes, "all axes permuted": permute_all_axes, "samples shuffled": shuffle_samples,
    "nodes permuted": permute_nodes, "coordinates scaled": scale_coordinates, "coordinates shifted": shift_coordinates,
    "NaN in an input": add_nan("input"), "NaN in an output": add_nan("output"),
    "an input short": one_row_short("input"), "an output short": one_row_short("output"),
    "samples last": samples_last, "samples last, as said": samples_last_as_said, "outputs in columns": outputs_in_columns,
    "meaningless names": meaningless_names, "misleading names": misleading_names, "an axis of one": single_axis,
    "coordinates in a column": column_of_coordinates, "other arrays beside them": extra_arrays,
    "arrays in another order": other_order_of_arrays, "in NetCDF": as_kind("nc"), "in NetCDF, axes turned": as_kind("nc turned"),
    "in HDF5": as_kind("h5"), "in MATLAB": as_kind("mat"), "in two files": in_two_files, "a parameter less": a_parameter_less,
}  # fmt: skip
CASES = [(name, how) for name, make in SETS.items() for how, spoil in MUTATIONS.items() if spoil(make()) is not None]


def test_there_are_a_hundred_of_them():
    assert len(CASES) >= (190 if PUBLIC else 100)


def dims_of(s, name):
    """Names for the axes of an array."""
    if name in s.places:
        return ("node", "coordinate") if s.nodes else (name,)
    places = (("node",) if s.nodes else s.places) if name in s.grids else ()
    others = ("channel",) if places else (f"{name} number",)
    return ("sample", *places, *others)[: s.arrays[name].ndim]


def write(folder, spoilt):
    """The file, or two."""
    s = spoilt.set
    if spoilt.kind == "h5":
        with h5py.File(folder / "d.h5", "w") as file:
            for name, values in s.arrays.items():
                file[name] = values
        return folder / "d.h5", {}
    if spoilt.kind.startswith("nc"):
        arrays = {name: (dims_of(s, name), values) for name, values in s.arrays.items()}
        content = xarray.Dataset(arrays)
        if spoilt.kind == "nc turned":
            content = content.transpose(*sorted(content.dims, reverse=True))
        content.to_netcdf(folder / "d.nc")
        return folder / "d.nc", {"input": s.input, "output": s.output}
    if spoilt.kind == "mat":
        scipy.io.savemat(folder / "d.mat", s.arrays)
        return folder / "d.mat", {}
    if spoilt.kind == "two":
        np.savez(folder / "in.npz", **{name: values for name, values in s.arrays.items() if name != s.output})
        np.savez(folder / "out.npz", **{s.output: s.arrays[s.output]})
        return folder / "in.npz", {"output_path": folder / "out.npz", "input": s.input}
    np.savez(folder / "d.npz", **s.arrays)
    return folder / "d.npz", {}


def told(spoilt, beside):
    """What the caller says: the names, where the set needs them said."""
    options = dict(spoilt.set.options) | beside
    if "output_path" in beside:
        options["output"] = spoilt.set.output
    return options | {key: value for key, value in spoilt.options.items() if key == "samples_axis"}


def tried(work):
    """Inputs and outputs as read, or the question, which names an option or says what to do with the file."""
    try:
        return [values.numpy() for values in work().dataset()], ""
    except RaffiaError as error:
        question = str(error)
    assert re.search(r"Pass |pass |Write |Leave |must pair up|Interpolate", question), question
    return None, question


def expected(before, spoilt):
    """The arrays as they were, with samples and nodes in the order of the mutation."""
    a, y = (values.numpy()[spoilt.rows] for values in before.dataset())
    if spoilt.nodes is not None:
        a, y = (values[..., spoilt.nodes] if values.shape[-1] == len(spoilt.nodes) else values for values in (a, y))
    return a, y


def equal(got, wanted):
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-8, atol=1e-12)


ASKING = ("NaN in an input", "NaN in an output", "an input short", "an output short")
ASKING_AGAIN = {(name, how) for name in SETS for how in ("meaningless names", "misleading names")} | {
    ("plane", "outputs in columns"), ("table", "samples last"),
}  # fmt: skip
ASKING_MODELS = (
    *ASKING,
    "samples last",
    "samples last, as said",
    "outputs in columns",
    "coordinates scaled",
    "coordinates shifted",
    "a parameter less",
)
ALIKE = (
    "first axis reversed", "second axis reversed", "both axes reversed", "axes of outputs permuted", "samples shuffled", "an axis of one",
    "arrays in another order", "in HDF5", "in MATLAB", "in NetCDF", "in NetCDF, axes turned", "in two files", "other arrays beside them",
    "coordinates in a column",
)  # fmt: skip


def spoil(name, how, folder):
    """The set as it was, opened; what became of it, and its file."""
    original = SETS[name]()
    np.savez(folder / "before.npz", **original.arrays)
    spoilt = MUTATIONS[how](original)
    return open_source(folder / "before.npz", **original.options), spoilt, *write(folder, spoilt)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_spoilt_file_is_read_as_before_or_asked_about(name, how, tmp_path):
    before, spoilt, path, beside = spoil(name, how, tmp_path)
    got, question = tried(lambda: open_source(path, **told(spoilt, beside)))
    asking = how in ASKING or (name, how) in ASKING_AGAIN
    assert asking == (got is None), question
    if got is None:
        return
    a, y = expected(before, spoilt)
    if spoilt.options.get("swapped"):
        a, y = np.swapaxes(a, 1, 2), np.swapaxes(y, 1, 2)
    assert equal(got[0], a[:, :-1] if how == "a parameter less" else a)
    assert equal(got[1], y)
    after = open_source(path, **told(spoilt, beside))
    for old, new in ((before.domain, after.domain), (before.output_space, after.output_space)):
        assert type(old) is type(new)
        if hasattr(old, "nodes"):
            nodes = old.nodes if spoilt.nodes is None else old.nodes[spoilt.nodes]
            assert torch.allclose(new.nodes, spoilt.scale * nodes + (how == "coordinates shifted"))
        elif how in ALIKE:
            assert old == new


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_spoilt_file_is_read_for_a_model_as_before_or_asked_about(name, how, tmp_path):
    before, spoilt, path, beside = spoil(name, how, tmp_path)
    names = {"input": spoilt.set.input, "output": spoilt.set.output} if spoilt.options.get("renamed") else {}
    names |= {key: value for key, value in beside.items() if key == "output_path"}
    got, question = tried(lambda: before.schema.pairs(path, **names))
    assert (how in ASKING_MODELS) == (got is None), question
    if got is not None:  # in the order of the model's nodes and axes
        a, y = (values.numpy()[spoilt.rows] for values in before.dataset())
        assert equal(got[0], a)
        assert equal(got[1], y)


@pytest.mark.parametrize(
    "how", ["first axis reversed", "samples shuffled", "nodes permuted", "in MATLAB", "coordinates shifted"]
)
@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_model_of_a_spoilt_file_predicts_the_same(name, how, tmp_path):
    original = SETS[name]()
    spoilt = MUTATIONS[how](original)
    if spoilt is None:
        pytest.skip("the set has nothing to be spoilt like that")
    np.savez(tmp_path / "before.npz", **original.arrays)
    sources = (
        open_source(tmp_path / "before.npz", **original.options),
        open_source(write(tmp_path, spoilt)[0], **spoilt.set.options),
    )
    models = [raffia.fit(source, "linear", ridge=1e-6, held_out=0).model for source in sources]
    wanted, got = (
        np.asarray(model.predict(sources[0].dataset().a if how != "nodes permuted" else source.dataset().a))
        for model, source in zip(models, sources, strict=True)
    )
    if spoilt.nodes is not None:
        wanted = wanted[:, spoilt.nodes]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
