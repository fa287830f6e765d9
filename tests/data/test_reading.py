"""Another file is read as the file of the training was: what fit was told or guessed is not asked for again."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from raffia import Burgers, Channels, Dataset, Domain, Mesh, RaffiaError, Vectors
from raffia.data import ArrayLayout, AxisLabel, Schema, SideSchema, open_source, variables, write
from raffia.data.readers import numpy_files
from raffia.model.file import CLASSES
from raffia.storage import archive
from tests.data.test_source import SHARED, shared, waves
from tests.test_cli import run

RNG = np.random.default_rng(2)
BOX = np.linspace(0, 1, 64)


def noise(*shape):
    return RNG.standard_normal(shape)


@pytest.fixture
def saved(tmp_path):
    """Write arrays into a file of their own; its path."""

    def write_arrays(name, **arrays):
        np.savez(tmp_path / f"{name}.npz", **arrays)
        return tmp_path / f"{name}.npz"

    return write_arrays


TOLD = {  # arrays for n samples, and what open_source must be told of them, or guesses only with many samples
    "rough parameters": (lambda n: {"mu": noise(n, 12), "u": waves(n, BOX, False)}, {"vectors": True}),
    "smooth parameters": (lambda n: {"mu": waves(n)[:, :12], "u": waves(n, BOX, False)}, {"vectors": True}),
    "noise on a box": (lambda n: {"a": noise(n, 64), "u": noise(n, 64)}, {"periodic": False}),
    "noise on a torus of length 3": (lambda n: {"a": noise(n, 64), "u": noise(n, 64)}, {"periodic": True, "extent": 3.0}),
    "several inputs": (
        lambda n: {"hot": noise(n, 64), "cold": noise(n, 64), "dose": RNG.random(n), "answer": noise(n, 64)},
        {"input": ["hot", "cold", "dose"], "output": "answer", "periodic": False},
    ),
    "channels last": (lambda n: {"a": noise(n, 64, 3), "u": noise(n, 64)}, {"periodic": True}),
    "samples in columns": (lambda n: {"a": noise(n, 12), "u": noise(64, n)}, {"vectors": True, "periodic": False}),
    "two files' worth of numbers": (lambda n: {"a": noise(n, 3), "drag": RNG.random((n, 1))}, {"input": "a", "output": "drag"}),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_one_file_was_told_holds_for_the_next(kind, saved):
    arrays, told = TOLD[kind]
    train, test = saved("train", **arrays(40)), saved("test", **arrays(9))
    reading = open_source(train, **told).schema
    expected = open_source(test, **told).dataset()
    assert torch.equal(reading.inputs(test), expected.a)
    again = reading.pairs(test)
    assert torch.equal(again.dataset().a, expected.a)
    assert torch.equal(again.dataset().y, expected.y)
    assert (again.domain, again.output, again.schema) == (expected.domain, expected.output, reading)


@pytest.mark.parametrize("kind", ["smooth parameters", "noise on a box", "several inputs", "channels last"])
def test_spaces_alone_are_enough_where_the_axes_were_not_kept(kind, saved):
    arrays, told = TOLD[kind]
    path = saved("d", **arrays(9))
    source = open_source(path, **told)
    whole = source.schema
    bare = Schema(
        input=SideSchema(names=whole.input.names, space=whole.input.space),
        output=SideSchema(names=whole.output.names, space=whole.output.space),
    )
    assert torch.equal(bare.inputs(path), source.dataset().a)
    assert torch.equal(bare.pairs(path).dataset().y, source.dataset().y)


@pytest.mark.parametrize("points", [2, 33, 128])
def test_grids_may_have_other_sizes(points, saved):
    reading = open_source(saved("train", a=waves(9), u=waves(9))).schema
    other = saved("test", a=noise(5, points), u=noise(5, points))
    assert reading.inputs(other).shape == (5, points)
    assert reading.pairs(other).domain == Domain(1)


def test_one_sample_and_constant_functions_are_read_too(saved):
    reading = open_source(saved("train", a=waves(9), u=waves(9))).schema
    one = reading.pairs(saved("test", a=np.ones((1, 64)), u=np.zeros((1, 64)))).dataset()
    assert torch.equal(one.a, torch.ones(1, 64, dtype=torch.float64))


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        ({"a": noise(9, 3), "u": waves(9)}, {"a": noise(5, 4), "u": waves(5)}, r"a 5×4 must hold .*Vectors.*, 3 in training; got .* 4\."),
        ({"a": waves(9), "u": waves(9)}, {"a": noise(5, 6, 6), "u": waves(5)}, r"a 5×6×6 must hold samples of Domain\(dim=1"),
        ({"a": waves(9), "u": waves(9)}, {"a": waves(5), "u": noise(5, 6, 6)}, r"u 5×6×6 must hold samples of Domain\(dim=1"),
        (
            {"a": np.stack([waves(9), waves(9)], 1), "u": waves(9)},
            {"a": np.stack([waves(5)] * 3, 1), "u": waves(5)},
            r"a 5×3×64 must hold samples of Channels.*count=2\), 2×64 in training; got samples of shape 3×64, channels before",
        ),
        ({"a": waves(9), "u": waves(9)}, {"a": waves(5), "u": waves(4)}, "must pair up; got 5 inputs and 4 outputs: a 5×64, u 4×64"),
        ({"a": waves(9), "u": waves(9)}, {"a": waves(5)[:0], "u": waves(5)[:0]}, "must hold at least one sample"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_named_with_the_file(train, test, words, saved):
    reading = open_source(saved("train", **train)).schema
    with pytest.raises(RaffiaError, match=rf"test\.npz: .*{words}"):
        reading.pairs(saved("test", **test))


def test_meshes_keep_their_nodes(saved):
    nodes = RNG.random((25, 2))
    reading = open_source(saved("train", mu=noise(9, 2), u=noise(9, 25), where=nodes)).schema
    assert reading.output.space == Mesh(torch.from_numpy(nodes))
    assert (
        reading.pairs(saved("test", mu=noise(5, 2), u=noise(5, 25))).output == reading.output.space
    )  # the nodes need not come again
    with pytest.raises(RaffiaError, match=r"test\.npz: u 5×24 must hold samples of Mesh of 25 nodes"):
        reading.pairs(saved("test", mu=noise(5, 2), u=noise(5, 24)))


def test_names_are_those_given_else_those_of_the_training_else_the_usual_ones(saved, tmp_path):
    first, second = noise(5, 64), noise(5, 64)
    reading = open_source(saved("train", heat=waves(9), rain=waves(9)), input="heat", output="rain").schema
    assert torch.equal(reading.inputs(saved("all", a=first, heat=second)), torch.from_numpy(second))
    assert torch.equal(reading.inputs(tmp_path / "all.npz", "a"), torch.from_numpy(first))
    assert torch.equal(reading.inputs(saved("usual", a=first, other=second)), torch.from_numpy(first))
    assert torch.equal(reading.inputs(saved("only", other=second)), torch.from_numpy(second))
    assert torch.equal(reading.pairs(saved("half", heat=noise(5, 64), a=first, u=second)).dataset().a, torch.from_numpy(first))
    with pytest.raises(RaffiaError, match=r"which array holds the inputs\? It holds p 5×64 f8; q 5×64 f8. Pass --input NAME"):
        reading.inputs(saved("none", p=first, q=second))
    with pytest.raises(RaffiaError, match=r"input='hat' \(--input\)"):
        reading.inputs(tmp_path / "all.npz", ["hat"])


def test_outputs_may_be_in_a_second_file_and_errors_name_that_one(saved):
    reading = open_source(saved("a", a=waves(9)), output_path=saved("u", u=waves(9))).schema
    ins, outs = saved("more_a", a=noise(5, 64)), saved("more_u", u=noise(5, 64))
    assert torch.equal(reading.pairs(ins, output_path=outs).dataset().y, torch.from_numpy(variables(outs)["u"].read()))
    with pytest.raises(RaffiaError, match=r"^\S*more_u\.npz: u 5×4×4 must hold"):
        reading.pairs(ins, output_path=saved("more_u", u=noise(5, 4, 4)))


def test_files_of_ours_must_have_the_domain_of_the_training(tmp_path):
    write(tmp_path / "d.npz", Burgers(fine_points=64).dataset(3, 32, seed=1))
    source = open_source(tmp_path / "d.npz")
    assert source.schema.pairs(tmp_path / "d.npz").settings == source.settings
    side = dataclasses.replace(source.schema.input, space=Domain(1, periodic=False))
    other = dataclasses.replace(source.schema, input=side)
    for read in (other.inputs, other.pairs):
        with pytest.raises(RaffiaError, match=r"d\.npz has Domain\(dim=1, periodic=True.*, the model was trained on Domain"):
            read(tmp_path / "d.npz")


def test_each_array_is_read_once(saved, monkeypatch):
    path = saved("d", a=waves(9), u=waves(9))
    reading = open_source(path).schema
    calls = []
    real = numpy_files.whole
    monkeypatch.setattr(numpy_files, "whole", lambda load, first: real(lambda: calls.append(1) or load(), first))
    reading.inputs(path)
    assert len(calls) == 1
    reading.pairs(path).dataset()
    assert len(calls) == 3


def test_a_schema_goes_into_a_file_and_comes_back(tmp_path):
    nodes = torch.rand(7, 2, dtype=torch.float64)
    schema = Schema(
        input=SideSchema(
            names=("hot", "dose"),
            space=Channels(Mesh(nodes), 2),
            layouts=(ArrayLayout(1, None), ArrayLayout(0, 1, 2)),
            shape=(2, 7),
            frame=(AxisLabel("x", "m", 0.0, 2.5), AxisLabel()),
        ),
        output=SideSchema(names=("u",), space=Vectors(), layouts=(ArrayLayout(flipped=(True,)),)),
        coordinates=("x",),
    )
    archive.write(tmp_path / "r.safetensors", {"schema": schema})
    assert archive.read(tmp_path / "r.safetensors", CLASSES)["schema"] == schema


def test_schemas_of_version_0_1_load():
    old = {"input_names": ("a",), "output_names": ("u",), "domain": Domain(1), "output": Vectors(), "input_shape": (8,)}
    assert archive.built("Reading", old, CLASSES) == Schema(
        input=SideSchema(names=("a",), space=Domain(1), shape=(8,)), output=SideSchema(names=("u",), space=Vectors())
    )


def test_the_space_of_outputs_is_always_known(saved):
    source = open_source(saved("d", a=waves(9), u=waves(9)))
    assert (source.output, source.output_space, source.dataset().output_space) == (None, Domain(1), Domain(1))
    assert Dataset(noise(2, 3), noise(2), Vectors(), output=Domain(0)).output_space == Domain(0)


@shared
def test_the_mesh_of_the_training_serves_files_with_samples_in_columns():
    path = SHARED / "pina" / "holed_poisson.pt"
    source = open_source(path)
    assert source.schema.output.layouts == (ArrayLayout(1),)
    assert torch.equal(source.schema.pairs(path).read(range(3, 9))[1], source.read(range(3, 9))[1])


@pytest.mark.parametrize("kind", ["rough parameters", "noise on a box", "several inputs", "samples in columns"])
def test_predict_and_evaluate_do_not_ask_again(kind, saved, tmp_path, capsys):
    arrays, told = TOLD[kind]
    options = [*["--vectors"] * ("vectors" in told), *["--box"] * ("periodic" in told)]
    options += [word for name in told.get("input", ()) for word in ("--input", name)]
    options += ["--output", told["output"]] if "output" in told else []
    fitting = ("fit", saved("train", **arrays(30)), *options, "--map", "linear", "--features", 20, "--no-report")
    assert run(capsys, *fitting, "-o", tmp_path / "m.safetensors")[0] == 0
    test = saved("test", **arrays(5))
    code, _, err = run(capsys, "predict", tmp_path / "m.safetensors", test, "-o", tmp_path / "p.npy")
    assert (code, err) == (0, "")
    assert np.load(tmp_path / "p.npy").shape == ((64, 5) if kind == "samples in columns" else (5, 64))
    code, out, err = run(capsys, "evaluate", tmp_path / "m.safetensors", test, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["samples"] == 5


def test_the_recipe_of_the_readme_serves_models_of_many_parameters(saved, tmp_path, capsys, monkeypatch):
    """raffia fit mine.npz, then raffia predict mine.safetensors mine.npz: twelve parameters are guessed once, and not asked for again."""
    monkeypatch.chdir(tmp_path)
    mu = RNG.random((40, 12))
    saved("mine", mu=mu, u=np.sin(mu @ RNG.random((12, 64)) / 4 + BOX))
    assert run(capsys, "fit", "mine.npz", "--map", "linear", "--no-report")[0] == 0
    saved("one", mu=mu[:1])
    for file, n in (("mine.npz", 40), ("one.npz", 1)):
        code, _, err = run(capsys, "predict", "mine.safetensors", file, "--output", "predicted.npy")
        assert (code, err) == (0, "")
        assert np.load("predicted.npy").shape == (n, 64)
