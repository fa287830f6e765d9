"""Names: which arrays are inputs and outputs, and what axes and coordinates are called, by usage and by the CF conventions."""

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from raffia.data.infer.guess import Confidence, Guesses
from raffia.data.options import FLAGS, Names, listed
from raffia.data.parts import part_of
from raffia.data.readers import Variable, variables
from raffia.data.readers.folders import NAMES, NUMBERS, SPLITS, only_folder, test_sets
from raffia.data.readers.meshes.content import PART
from raffia.errors import RaffiaError

PAIRS = (
    ("a", "y"), ("a", "u"), ("input", "output"), ("inputs", "outputs"), ("input_data", "output_data"), ("x_train", "y_train"),
    ("x_train0", "y_train"), ("train_x", "train_y"), ("x_test", "y_test"), ("x_test0", "y_test"), ("x0", "y"), ("test_x", "test_y"),
    ("coeff", "sol"), ("u0", "u"), ("u_0", "u"), ("mu", "u"), ("f", "u"), ("k", "u"), ("kappa", "u"), ("branch", "target"),
    ("features", "targets"), ("features", "labels"), ("0", "1"),
)  # fmt: skip
PARAMETERS = ("parameters", "parameter", "params", "inputs", "features", NUMBERS)
"""Names that inputs have, beside which all arrays with as many rows are outputs."""
LOADS = {
    "a", "f", "k", "kappa", "mu", "load", "force", "forcing", "source", "coeff", "u0", "u_0", "ic", "initial_condition",
    "initial_conditions", *PARAMETERS,
}  # fmt: skip
"""Names that inputs have."""
SOLUTIONS = re.compile(
    r"[uvwp]|u[_:.]?[xyz0-9]|(x|y|z|r|theta)[-_ ](velocity|displacement)|(velocity|displacement|pressure|temperature|sol|out)\w*"
)
"""Names that outputs have where other arrays are named like inputs: components and names of solutions."""
OUTPUTS = re.compile(r"y|u|s|targets?|labels|y_train|.*(out|sol).*")
COORDINATES = ("x", "y", "z", "t", "time", "lat", "lon", "latitude", "longitude", "s", "r", "theta", "grid", "xs", "ys", "ts")
CELLS = ("triang", "triangles", "cells", "elements", "simplices", "faces", "tri", "connectivity", "elem")
CHANNELS = ("channel", "channels", "component", "components", "variable", "feature", "c", "ch", "complex")
SAMPLES = (
    "sample", "samples", "realization", "realisation", "realizations", "ensemble", "ens", "member", "members", "number", "run", "runs",
    "case", "cases", "batch", "snapshot", "snapshots", "trial", "instance", "obs", "n_samples", "nsamples", "simulation", "sim", "draw",
)  # fmt: skip
TIMES = ("t", "time", "times", "ts", "date", "valid_time", "forecast_time", "step", "steps")
PLACES = (
    "x", "y", "z", "lat", "lon", "latitude", "longitude", "lev", "level", "depth", "height", "altitude", "pressure", "plev", "theta", "phi",
    "r", "rlat", "rlon", "nav_lat", "nav_lon", "xc", "yc", "northing", "easting", "node", "nodes", "point", "points", "cell", "cells",
    "space", "frequency", "wavelength", "complex",
)  # fmt: skip
STANDARD = ("latitude", "longitude", "projection", "height", "depth", "altitude", "pressure", "grid_latitude", "grid_longitude")
BOUNDS = ("bnds", "bounds", "_bnd", "limits", "vertices")

Variables = dict[str, Variable]
FEW = 8  # numbers of a sample that are offered as inputs


def choose(
    path: object, arrays: Variables, input: Names | None, output: Names | None, output_path: object, elsewhere: Variables
) -> tuple[list[Variable], list[Variable], Guesses]:
    """Return inputs and outputs, by the names given or guessed, and why; `elsewhere` are the variables of the file with the outputs."""
    guesses = Guesses()
    if input is None and output is None and output_path is None:
        ins, outs, reason = pair(path, arrays)
        guesses.note(reason, "output", tuple(v.name for v in outs))
        return ins, outs, guesses
    if input is None and output_path is None and len([v for v in arrays.values() if v.numeric and v.shape]) == 1:
        output_path = path  # outputs are in other files, by their names
    if output_path is None and (input is None or output is None):
        return _with_the_rest(path, arrays, input, output)
    sides = []
    for place, there, names, field in (
        (path, arrays, input, "input"),
        (output_path or path, elsewhere, output, "output"),
    ):
        if names is None:
            sides.append(_all_columns(there) or [only(place, there, field)])
            guesses.note(f"{field}s are {', '.join(v.name for v in sides[-1])} in {place}")
        else:
            sides.append(pick(place, there, names, field))
    return sides[0], sides[1], guesses


def _all_columns(arrays: Variables) -> list[Variable]:
    """Return all columns of a separate table file if there are several, each with one number for each sample."""
    columns = likely(arrays)
    alike = len(columns) > 1 and len({v.shape for v in columns}) == 1 and len(columns[0].shape) == 1
    return columns if alike and not any(v.dims is None for v in columns) else []


def _with_the_rest(
    path: object, arrays: Variables, input: Names | None, output: Names | None
) -> tuple[list[Variable], list[Variable], Guesses]:
    """Return the named side, and the remaining arrays as the other: the numbers in file names, or columns of one kind."""
    known, left = ("output", "input") if input is None else ("input", "output")
    named = pick(path, arrays, input or output or (), known)
    taken = {v.name.partition("[")[0] for v in named}
    rest = [v for v in likely(arrays) if v.name not in taken and v.shape[:1] == named[0].shape[:1]]
    rest = [v for v in rest if not (np.dtype(v.dtype).kind in "iu" and counts_rows(v))] or rest
    if left == "input" and any(v.name == NUMBERS for v in rest):
        rest = [v for v in rest if v.name == NUMBERS]
    if not rest or (len(rest) > 1 and (len({v.shape for v in rest}) > 1 or len(rest[0].shape) > 1)):
        raise RaffiaError(
            f"{path}: {FLAGS[known]} ({known}=…) is given, so give {FLAGS[left]} ({left}=…) too. {contents(arrays)}"
        )
    guesses = Guesses()
    names = tuple(v.name for v in rest)
    guesses.note(f"{left}s are {', '.join(names)}, all that is left", left, names, Confidence.LIKELY)
    return (rest, named, guesses) if left == "input" else (named, rest, guesses)


def expanded(names: Names | None, arrays: Variables) -> Names | None:
    """Return the names, with each pattern such as u* replaced by the names of all arrays that it matches."""
    if names is None:
        return None
    numeric = [name for name, v in arrays.items() if v.numeric]
    return [each for name in listed(names) for each in (name not in arrays and fnmatch.filter(numeric, name)) or [name]]


def pick(path: object, arrays: Variables, names: Names, argument: str) -> list[Variable]:
    """Return the variables with these names: arrays of the file, parts such as u[:,0], or arrays of another file, FILE:NAME."""
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
        return _picked(file[0], there, file[1], argument) if file[1] else only(file[0], there, argument)
    what = "real numbers" if name in arrays else "it"
    raise RaffiaError(
        f"{argument}={name!r} ({FLAGS[argument]}): {path} does not hold {what} under that name. {contents(arrays)}"
    )


def with_parts(path: object, arrays: Variables, names: Sequence[str]) -> Variables:
    """Return the arrays and the parts that names such as u[:,3:] select. Raise an error for names that match nothing."""
    missing = [name for name in names if name not in arrays and not in_file(name)]
    return arrays | dict(zip(missing, pick(path, arrays, missing, "input") if missing else [], strict=True))


def in_file(name: str) -> tuple[Path, str] | None:
    """Return the file and the array that FILE or FILE:NAME names, if there is such a file."""
    file, colon, array = name.rpartition(":")
    if Path(name).exists():
        return Path(name), ""
    return (Path(file), array) if colon and file and Path(file).exists() else None


def shapes(variables: Iterable[Variable]) -> str:
    """Return the names of variables, each with its shape."""
    return ", ".join(f"{v.name} {shown(v.shape)}" for v in variables)


def contents(arrays: Variables) -> str:
    """Return a sentence that lists the arrays of a file."""
    held = "; ".join(f"{name} {shown(v.shape)} {v.dtype.lstrip('<>|=')}" for name, v in list(arrays.items())[:24])
    more = f"; and {len(arrays) - 24} more" if len(arrays) > 24 else ""
    return f"It holds {held}{more}." if arrays else "It holds no arrays of numbers."


def unpaired(ins: Sequence[Variable], outs: Sequence[Variable]) -> str:
    """Return the text of an error for inputs and outputs with different numbers of samples."""
    counts = " and ".join(f"{side[0].shape[0]} {name}" for name, side in (("inputs", ins), ("outputs", outs)) if side)
    return f"inputs and outputs must pair up; got {counts}: {shapes((*ins, *outs))}."


def shown(shape: tuple[int, ...]) -> str:
    """Return a shape, as in 3×64×64."""
    return "×".join(str(axis) for axis in shape) or "a number"


def pair(path: object, arrays: Variables) -> tuple[list[Variable], list[Variable], str]:
    """Return inputs and outputs of a file by their usual names, or as the only two arrays with as many rows; and why."""
    if other := test_sets(list(arrays)):
        ins, outs, reason = pair(path, {name: v for name, v in arrays.items() if name not in other})
        return ins, outs, f"{reason}. {', '.join(other)} are not used: they are named like test sets"
    arrays = _without_counts(arrays)
    candidates = likely(arrays)
    numeric = _numbers(arrays)
    if NUMBERS in numeric and len(numeric) > 3 and (sides := _by_roles(candidates)):
        return sides
    matches = _usual_pairs(numeric)
    if len(matches) == 1:
        a, y = matches[0]
        return [a], [y], f"inputs are {a.name}, outputs are {y.name}: their names say so"
    if not matches and len(candidates) == 2 and candidates[0].shape[0] == candidates[1].shape[0] >= 2:
        first, second = sorted(candidates, key=lambda v: bool(OUTPUTS.fullmatch(v.name.lower())) - _is_load(v))
        if not (OUTPUTS.fullmatch(second.name.lower()) or _is_load(first)):
            _check_one_kind(path, arrays)
            ways = [f"{FLAGS['input']} {a.name} {FLAGS['output']} {y.name}" for a, y in ((first, second), (second, first))]
            raise RaffiaError(
                f"{path}: which of {shapes(candidates)} holds the inputs, which the outputs? Their names do not tell. "
                f"Pass {ways[0]}, or {ways[1]} (input=…, output=…)."
            )
        return [first], [second], f"inputs are {first.name}, outputs are {second.name}, the two arrays with as many rows"
    if not matches and (sides := _by_roles(candidates)):
        return sides
    raise _unclear(path, arrays, matches)


def _without_counts(arrays: Variables) -> Variables:
    """Return the arrays without the numbers in file names, if these only count the files and two or more other arrays remain."""
    others = {name: v for name, v in arrays.items() if name != NUMBERS}
    return others if len(likely(others)) > 1 and NUMBERS in arrays and counts_rows(arrays[NUMBERS]) else arrays


def _unclear(path: object, arrays: Variables, matches: Sequence[tuple[Variable, Variable]]) -> RaffiaError:
    """Return the error that asks which arrays are inputs and outputs, with the likely ones."""
    _check_one_kind(path, arrays)
    several = ", ".join(f"{a.name} → {y.name}" for a, y in matches)
    what = f"Several pairs could be meant: {several}" if several else "The names do not tell"
    return RaffiaError(
        f"{path}: which arrays are inputs and which outputs? {what}. {contents(arrays)} "
        f"Pass {FLAGS['input']} NAME {FLAGS['output']} NAME (input=…, output=…){_offered(arrays)}"
        + (
            f", or the outputs in a second file: {FLAGS['output_path']} FILE (output_path=…)"
            if len(_numbers(arrays)) == 1
            else ""
        )
        + (f", or a table with the inputs of each file: {FLAGS['parameters']} FILE (parameters=…)." if NAMES in arrays else ".")
    )


def _usual_pairs(arrays: Variables) -> list[tuple[Variable, Variable]]:
    """Return the pairs of arrays with usual names such as a and u: those with equal numbers of rows, if there are any."""
    lower = {_bare(name): name for name in reversed(arrays)} | {_last(name): name for name in reversed(arrays)}
    named = [(arrays[lower[a]], arrays[lower[y]]) for a, y in PAIRS if a in lower and y in lower]
    named = [two for two in named if not _beside_functions(two, arrays)]
    in_rows = [(a, y) for a, y in named if a.shape[0] == y.shape[0]]
    matches = in_rows or [(a, y) for a, y in named if a.shape[0] == y.shape[-1] or a.shape[-1] == y.shape[0]]
    matches = [two for two in matches if "train" in two[0].name.lower()] or matches
    if not matches and "x" in lower and "y" in lower:
        bare = arrays[lower["x"]], arrays[lower["y"]]
        matches = [bare] if bare[0].shape[0] == bare[1].shape[0] and not _beside_functions(bare, arrays) else []
    return matches or (named if len(named) == 1 else [])


def _by_roles(candidates: Sequence[Variable]) -> tuple[list[Variable], list[Variable], str] | None:
    """Return inputs and outputs by the names that loads and solutions have; None where names do not decide.

    With one array that is named like an input, all others with as many rows are outputs if they lie on one grid.
    """
    ins = [v for v in candidates if _bare(v.name) in PARAMETERS] or [v for v in candidates if _is_load(v)]
    rest = [v for v in candidates if v not in ins and v.shape[0] == ins[0].shape[0] > 1] if ins else []
    named = ins and (_bare(ins[0].name) in PARAMETERS or all(SOLUTIONS.fullmatch(_bare(v.name)) for v in rest))
    if len(ins) != 1 or not rest or not named or len({v.shape[:2] for v in rest}) > 1:
        return None
    fewer = f". {FLAGS['output']} takes fewer" if len(rest) > 1 else ""
    return (
        ins,
        rest,
        f"inputs are {ins[0].name}, outputs are {', '.join(v.name for v in rest)}: their names say so{fewer}",
    )


def _check_one_kind(path: object, arrays: Variables) -> None:
    """Ask which kind of the files of a folder is meant, where their names show several, each numbered."""
    kinds = Counter(re.sub(r"\d+(\.\d+)?", "*", str(name)) for name in arrays[NAMES].read()) if NAMES in arrays else {}
    if len(kinds) < 2 or min(kinds.values()) < 2:
        return
    folder = only_folder(Path(str(path)) if Path(str(path)).is_dir() else Path(str(path)).parent)
    patterns = " or ".join(f"'{folder / kind}'" for kind in kinds)
    raise RaffiaError(
        f"{path}: which files are meant? They are of {len(kinds)} kinds. Pass those of one, in quotes: {patterns}."
    )


def _offered(arrays: Variables) -> str:
    """What to type where a few numbers a sample, such as its time, stand beside functions of one shape."""
    few = [v for v in _numbers(arrays).values() if math.prod(v.shape[1:]) <= FEW]
    for a in few:
        functions = [v for v in likely(arrays) if v not in few and v.shape[0] == a.shape[0]]
        if functions and len({v.shape for v in functions}) == 1:
            outputs = " ".join(f"{FLAGS['output']} {v.name}" for v in functions)
            steps = " ".join(f"{FLAGS['input']} {v.name}" for v in functions)
            return f", such as {FLAGS['input']} {a.name} {outputs}, or for a model of time steps {steps}"
    columns = [v for v in likely(arrays) if len(v.shape) == 1]
    if len(columns) < 3:
        return ""
    return f". {FLAGS['output']} alone is enough, such as {FLAGS['output']} '{columns[-1].name}': all others are inputs"


def _last(name: str) -> str:
    """Return a name in small letters, without the group that it is in."""
    return name.rpartition("/")[2].rpartition(".")[2].lower()


def _bare(name: str) -> str:
    """Return a name in small letters, without its group and without the word for a part of the samples."""
    words = re.split(r"([_\- ]+)", _last(name))
    return "".join(words[:-2] if len(words) > 1 and words[-1] in SPLITS[:2] else words)


def _is_load(v: Variable) -> bool:
    return _bare(v.name) in LOADS


def _numbers(arrays: Variables) -> Variables:
    """Return the numeric arrays, except coordinates of an axis with their name and cell boundaries."""
    apart = bounds(arrays)
    return {name: v for name, v in arrays.items() if v.numeric and v.shape and name not in apart and v.dims != (name,)}


def likely(arrays: Variables) -> list[Variable]:
    """Return the arrays that may hold samples: numbers, and neither coordinates nor cells."""
    return [v for v in _numbers(arrays).values() if not _auxiliary(v)]


def only(path: object, arrays: Variables, argument: str) -> Variable:
    """Return the one array of a file that can be meant."""
    apart = bounds(arrays)
    numeric = [v for name, v in arrays.items() if v.numeric and v.shape and name not in apart]
    usual = {names[argument == "output"] for names in PAIRS}
    alone = numeric if len(numeric) == 1 else likely(arrays)
    named = alone if len(alone) == 1 else [v for v in numeric if v.name.lower() in usual]
    if len(named) != 1:
        raise RaffiaError(
            f"{path}: which array holds the {argument.removesuffix('s')}s? {contents(arrays)} Pass {FLAGS[argument]} NAME ({argument}=…)."
        )
    return named[0]


def _beside_functions(two: tuple[Variable, Variable], arrays: Variables) -> bool:
    """Return whether one of two arrays looks like coordinates, and there are others that are functions."""
    others = [v for v in arrays.values() if v not in two and not _auxiliary(v) and len(v.shape) - v.shape.count(1) > 1]
    return any(_auxiliary(v) for v in two) and bool(others)


def _auxiliary(v: Variable) -> bool:
    """Return whether an array is of coordinates along an axis, of cells, or what a file says are nodes and cells."""
    line = len(v.shape) - v.shape.count(1) <= 1 and word(v.name) in COORDINATES
    return v.attributes.get(PART) is True or line or word(v.name) in CELLS


def word(name: str) -> str:
    """Return the last part of a name, in small letters: t of run/t, and of t-coordinate."""
    return _last(name.rstrip(".")).removesuffix("-coordinate").removesuffix("_coordinate")


def text(v: Variable | None, attribute: str) -> str:
    """Return an attribute as text; empty where there is none."""
    return "" if v is None else str(v.attributes.get(attribute, "")).strip()


def bounds(arrays: Variables) -> set[str]:
    """Return the names of arrays with cell boundaries, as in CF's `bounds`. They are neither coordinates nor functions."""
    named = {text(v, attribute) for v in arrays.values() for attribute in ("bounds", "climatology")}
    return {name for name in arrays if name in named or name.rpartition("/")[2].lower().endswith(BOUNDS)}


def unused(arrays: Variables, used: Iterable[Variable]) -> Variables:
    """Return the arrays that are not used, not even in part, and are not cell boundaries."""
    taken = {v.name.partition("[")[0] for v in used} | bounds(arrays)
    return {name: v for name, v in arrays.items() if name.partition("[")[0] not in taken}


def counts_samples(dim: str, x: Variable | None) -> bool:
    """Return whether an axis counts samples, by its name or by the attributes of its coordinates."""
    return word(dim) in SAMPLES or text(x, "standard_name").lower() == "realization" or text(x, "axis").upper() == "E"


def counts_rows(v: Variable) -> bool:
    """Return whether an array only numbers the samples: 1, 2, 3 …."""
    one = v.numeric and len(v.shape) - v.shape[1:].count(1) == 1 and v.shape[0] > 2
    return bool(one and (np.diff(v.glance().reshape(-1)) == 1).all())


def is_time(dim: str, x: Variable | None) -> bool:
    """Return whether an axis is one of time."""
    marked = text(x, "standard_name").lower() == "time" or text(x, "axis").upper() == "T"
    return marked or " since " in text(x, "units").lower() or word(dim) in TIMES


def is_times(v: Variable) -> bool:
    """Return whether an array has one axis and a name that means time."""
    return v.numeric and word(v.name) in TIMES and len(v.shape) - v.shape.count(1) == 1


def times_of_each(t: Variable, shape: tuple[int, ...]) -> int | None:
    """Return the time axis if an array holds the times of each trajectory, (n, states), else None."""
    if not t.numeric or word(t.name) not in TIMES or len(t.shape) != 2 or 1 in t.shape or len(shape) < 3:
        return None
    fits = [axis for axis, size in enumerate(shape[1:], 1) if t.shape == (shape[0], size)]
    return fits[0] if len(fits) == 1 else None


def is_place(dim: str, x: Variable | None) -> bool:
    """Return whether an axis is one of space, so that it does not count samples."""
    marked = text(x, "axis").upper() in ("X", "Y", "Z") or text(x, "standard_name").lower().startswith(STANDARD)
    return marked or text(x, "units").lower().startswith("degree") or word(dim) in PLACES
