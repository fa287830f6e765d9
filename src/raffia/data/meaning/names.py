"""Which arrays of a file are inputs and which are outputs, where their names or their shapes tell."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from raffia.data.meaning import attributes
from raffia.data.meaning.slices import part_of
from raffia.data.options import FLAGS, Names, listed
from raffia.data.readers import NUMBERS, Variable, variables
from raffia.data.readers.meshes.content import PART
from raffia.errors import RaffiaError

PAIRS = (
    ("a", "y"), ("a", "u"), ("input", "output"), ("inputs", "outputs"), ("input_data", "output_data"), ("x_train", "y_train"),
    ("x_train0", "y_train"), ("train_x", "train_y"), ("x_test", "y_test"), ("x_test0", "y_test"), ("x0", "y"), ("test_x", "test_y"),
    ("coeff", "sol"), ("u0", "u"), ("u_0", "u"), ("mu", "u"), ("f", "u"), ("k", "u"), ("kappa", "u"), ("branch", "target"),
    ("features", "targets"), ("features", "labels"), ("0", "1"),
)  # fmt: skip
SPLITS = ("training", "train", "validation", "valid", "vali", "val", "testing", "test")
"""Words in the names of arrays that hold a part of the samples; the first two are what is trained on."""
SOLUTIONS = re.compile(
    r"[uvwp]|u[_:.]?[xyz0-9]|(x|y|z|r|theta)[-_ ](velocity|displacement)|(velocity|displacement|pressure|temperature|sol|out)\w*"
)
"""Names that outputs have where other arrays are named like inputs: components and names of solutions."""
LOADS = ("a", "f", "k", "kappa", "mu", "load", "force", "forcing", "source", "coeff", "u0", "u_0", "ic", "filename numbers")
"""Names that inputs have."""
OUTPUTS = ("y", "u", "s", "target", "targets", "labels", "y_train")  # and all with "out" or "sol" in them
INPUTS = ("parameters", "params", "inputs", "features", "filename numbers")
COORDINATES = ("x", "y", "z", "t", "time", "lat", "lon", "latitude", "longitude", "s", "r", "theta", "grid", "xs", "ys", "ts")
CELLS = ("triang", "triangles", "cells", "elements", "simplices", "faces", "tri", "connectivity", "elem")

Variables = dict[str, Variable]


def choose(
    path: object, arrays: Variables, input: Names | None, output: Names | None, output_path: object, elsewhere: Variables
) -> tuple[list[Variable], list[Variable], list[str]]:
    """Inputs and outputs by the names given, or guessed; `elsewhere` are the variables of the file with the outputs."""
    if input is None and output is None and output_path is None:
        ins, outs, note = pair(path, arrays)
        return ins, outs, [note]
    if input is None and output_path is None and len([v for v in arrays.values() if v.numeric and v.shape]) == 1:
        output_path = path  # outputs are in other files, by their names
    if (input is None or output is None) and output_path is None:
        known, unknown = ("output", "input") if input is None else ("input", "output")
        raise RaffiaError(f"{path}: {FLAGS[known]} ({known}=…) is given, so give {FLAGS[unknown]} ({unknown}=…) too.")
    ins, note = only(path, arrays, "input") if input is None else (pick(path, arrays, input, "input"), "")
    there = output_path or path
    outs, said = only(there, elsewhere, "output") if output is None else (pick(there, elsewhere, output, "output"), "")
    return ins, outs, [text for text in (note, said) if text]


def pick(path: object, arrays: Variables, names: Names, argument: str) -> list[Variable]:
    """The variables of these names: of the file, a part such as u[:,0] of one, or of another file, FILE:NAME."""
    chosen = listed(names)
    if not chosen:
        raise RaffiaError(f"{argument}=… ({FLAGS[argument]}) names no array. {contents(arrays)}")
    return [_picked(path, arrays, name, argument) for name in chosen]


def _picked(path: object, arrays: Variables, name: str, argument: str) -> Variable:
    if name in arrays and arrays[name].numeric:
        return arrays[name]
    bare, bracket, _ = name.partition("[")
    if bracket and name.endswith("]"):
        return part_of(_picked(path, arrays, bare, argument), name[len(bare) :], f"{argument}={name!r} ({FLAGS[argument]})")
    if name not in arrays and (file := in_file(name)):
        there = variables(file[0])
        return _picked(file[0], there, file[1], argument) if file[1] else only(file[0], there, argument)[0][0]
    what = "real numbers" if name in arrays else "it"
    raise RaffiaError(
        f"{argument}={name!r} ({FLAGS[argument]}): {path} does not hold {what} under that name. {contents(arrays)}"
    )


def with_parts(path: object, arrays: Variables, names: Sequence[str]) -> Variables:
    """The arrays, with those parts of them that names such as u[:,3:] mean; names of nothing are refused."""
    missing = [name for name in names if name not in arrays and not in_file(name)]
    return arrays | dict(zip(missing, pick(path, arrays, missing, "input") if missing else [], strict=True))


def in_file(name: str) -> tuple[Path, str] | None:
    """The file and the array that FILE or FILE:NAME names, if there is such a file."""
    file, colon, array = name.rpartition(":")
    if Path(name).exists():
        return Path(name), ""
    return (Path(file), array) if colon and file and Path(file).exists() else None


def shapes(variables: Iterable[Variable]) -> str:
    """The names of variables, each with its shape."""
    return ", ".join(f"{v.name} {shown(v.shape)}" for v in variables)


def contents(arrays: Variables) -> str:
    """What a file holds, in a sentence."""
    held = "; ".join(f"{name} {shown(v.shape)} {v.dtype.lstrip('<>|=')}" for name, v in list(arrays.items())[:24])
    more = f"; and {len(arrays) - 24} more" if len(arrays) > 24 else ""
    return f"It holds {held}{more}." if arrays else "It holds no arrays of numbers."


def unpaired(ins: Sequence[Variable], outs: Sequence[Variable]) -> str:
    """What to say of inputs and outputs of unequal numbers."""
    counts = " and ".join(f"{side[0].shape[0]} {name}" for name, side in (("inputs", ins), ("outputs", outs)) if side)
    return f"inputs and outputs must pair up; got {counts}: {shapes((*ins, *outs))}."


def shown(shape: tuple[int, ...]) -> str:
    """A shape, as in 3×64×64."""
    return "×".join(str(axis) for axis in shape) or "a number"


def pair(path: object, arrays: Variables) -> tuple[list[Variable], list[Variable], str]:
    """Input and output of a file by their usual names, or as the only two arrays with as many rows; and why."""
    trained, other = _of_training(arrays)
    if other:
        ins, outs, note = pair(path, trained)
        return ins, outs, f"{note} {', '.join(other)} are not used: they are named like test sets."
    apart = attributes.bounds(arrays) | {name for name, v in arrays.items() if v.dims == (v.name,)}
    numeric = {name: v for name, v in arrays.items() if v.numeric and v.shape and name not in apart}
    lower = {_bare(name): name for name in reversed(numeric)} | {_last(name): name for name in reversed(numeric)}
    by_name = [(numeric[lower[a]], numeric[lower[y]]) for a, y in PAIRS if a in lower and y in lower]
    by_name = [two for two in by_name if not _beside_functions(two, numeric)]
    bare = (numeric[lower["x"]], numeric[lower["y"]]) if "x" in lower and "y" in lower else None
    if NUMBERS in numeric and len(numeric) > 3 and (sides := _by_roles(likely(arrays))):
        return sides
    matches = [two for two in by_name if _in_rows(*two)] or [two for two in by_name if _in_columns(*two)]
    matches = [two for two in matches if "train" in two[0].name.lower()] or matches
    if not matches and bare and _in_rows(*bare) and not _beside_functions(bare, numeric):
        matches = [bare]
    if len(matches) == 1 or (not matches and len(by_name) == 1):
        a, y = (matches or by_name)[0]
        return [a], [y], f"inputs are {a.name}, outputs are {y.name}: their names say so."
    alone = likely(arrays)
    if not matches and len(alone) == 2 and alone[0].shape[0] == alone[1].shape[0] >= 2:
        first, second = sorted(alone, key=lambda v: _looks_like_output(v) - (v.name.lower() in INPUTS))
        if not (_looks_like_output(second) or first.name.lower() in INPUTS):
            raise RaffiaError(
                f"{path}: which of {shapes(alone)} holds the inputs, which the outputs? Their names do not tell. "
                f"Pass {FLAGS['input']} {first.name} {FLAGS['output']} {second.name} (input=…, output=…), or the other way round."
            )
        return [first], [second], f"inputs are {first.name}, outputs are {second.name}, the two arrays with as many rows."
    if not matches and (sides := _by_roles(alone)):
        return sides
    several = ", ".join(f"{a.name} → {y.name}" for a, y in matches)
    what = f"Several pairs could be meant: {several}" if several else "The names do not tell"
    raise RaffiaError(
        f"{path}: which arrays are inputs and which outputs? {what}. {contents(arrays)} "
        f"Pass {FLAGS['input']} NAME {FLAGS['output']} NAME (input=…, output=…)"
        + (f", or the outputs in a second file: {FLAGS['output_path']} FILE (output_path=…)." if len(numeric) == 1 else ".")
    )


def _last(name: str) -> str:
    """A name in small letters, without the group that it is in."""
    return name.rpartition("/")[2].rpartition(".")[2].lower()


def _bare(name: str) -> str:
    """A name in small letters, without its group and without the word for a part of the samples."""
    words = re.split(r"([_\- ]+)", _last(name))
    if len(words) > 1 and words[-1] in SPLITS[:2]:
        words = words[:-2]
    return "".join(words)


def _of_training(arrays: Variables) -> tuple[Variables, list[str]]:
    """The arrays but those of test and validation sets, where each of these has one of the training beside it; and their names."""
    split = {}
    for name in arrays:
        words = re.split(r"[_.\- ]+", name.lower())
        part = next((word for word in words if word in SPLITS), "")
        split[name] = (tuple(word for word in words if word != part), part)
    known = {stem for stem, part in split.values() if part in SPLITS[:2]}
    other = [name for name, (stem, part) in split.items() if part in SPLITS[2:] and stem in known]
    return {name: v for name, v in arrays.items() if name not in other}, other


def _by_roles(candidates: Sequence[Variable]) -> tuple[list[Variable], list[Variable], str] | None:
    """Inputs and outputs by the names that loads and solutions have; None where names do not decide.

    With one array that is named like an input, all others with as many rows are outputs if they lie on one grid.
    """
    ins = [v for v in candidates if v.name == NUMBERS] or [v for v in candidates if _bare(v.name) in (*LOADS, *INPUTS)]
    rest = [v for v in candidates if v not in ins and v.shape[0] == ins[0].shape[0] > 1] if ins else []
    outs = [v for v in rest if SOLUTIONS.fullmatch(_bare(v.name))]
    if len(ins) == 1 and rest and (len(outs) == len(rest) or ins[0].name == NUMBERS) and len({v.shape[:2] for v in rest}) == 1:
        names = ", ".join(v.name for v in rest)
        few = f" {FLAGS['output']} takes fewer." if len(rest) > 1 else ""
        return ins, rest, f"inputs are {ins[0].name}, outputs are {names}: their names say so.{few}"
    return None


def likely(arrays: Variables) -> list[Variable]:
    """The arrays that may hold samples: numbers, and neither coordinates nor cells."""
    apart = attributes.bounds(arrays) | {name for name, v in arrays.items() if v.dims == (v.name,)}
    return [v for name, v in arrays.items() if v.numeric and v.shape and name not in apart and not _auxiliary(v)]


def only(path: object, arrays: Variables, argument: str) -> tuple[list[Variable], str]:
    """The one array of a file that can be meant."""
    apart = attributes.bounds(arrays)
    numeric = [v for name, v in arrays.items() if v.numeric and v.shape and name not in apart]
    usual = {names[argument == "output"] for names in PAIRS}
    alone = [v for v in numeric if len(numeric) == 1 or not (_auxiliary(v) or v.dims == (v.name,))]
    named = alone if len(alone) == 1 else [v for v in numeric if v.name.lower() in usual]
    if len(named) != 1:
        raise RaffiaError(
            f"{path}: which array holds the {argument.removesuffix('s')}s? {contents(arrays)} Pass {FLAGS[argument]} NAME ({argument}=…)."
        )
    return named, f"{argument.removesuffix('s')}s are {named[0].name} in {path}."


def _beside_functions(two: tuple[Variable, Variable], arrays: Variables) -> bool:
    """Whether one of two arrays looks like coordinates, and there are others that are functions."""
    others = [v for v in arrays.values() if v not in two and not _auxiliary(v) and len(v.shape) - v.shape.count(1) > 1]
    return any(_auxiliary(v) for v in two) and bool(others)


def _in_rows(a: Variable, y: Variable) -> bool:
    """Whether two arrays have as many rows, as samples of a pair have."""
    return a.shape[0] == y.shape[0]


def _in_columns(a: Variable, y: Variable) -> bool:
    """Whether one array has as many columns as the other has rows."""
    return a.shape[0] == y.shape[-1] or a.shape[-1] == y.shape[0]


def _auxiliary(v: Variable) -> bool:
    """Coordinates along an axis, cells, and what a file says are nodes and cells."""
    if v.attributes.get(PART) is True:
        return True
    coordinate = len(v.shape) - v.shape.count(1) <= 1 and attributes.word(v.name) in COORDINATES
    return coordinate or attributes.word(v.name) in CELLS


def _looks_like_output(v: Variable) -> bool:
    return v.name.lower() in OUTPUTS or "out" in v.name.lower() or "sol" in v.name.lower()
