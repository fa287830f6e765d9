"""What a user may say about a file: one dataclass, whose fields are the arguments of `open_source` and the options of the commands."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from pathlib import Path
from typing import Any

from raffia.data.readers.layout import Layout, resampling
from raffia.errors import RaffiaError
from raffia.spaces import KINDS
from raffia.spaces.axes import Axis, kinds_of, names_of
from raffia.validation import check_count

Names = str | Sequence[str]
SamplesAxis = int | str | Sequence[int] | None


def listed(names: Names | None) -> list[str]:
    """One name or several, as a list."""
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _option(flag: str, kind: Any, help: str, default: Any = None, **more: Any) -> Any:
    """A field with its flag on the command line, the type of the flag's value, and its help."""
    return field(default=default, metadata={"flag": flag, "kind": kind, "help": help, **more})


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What a user says about a file. What is left out is inferred from the file, and noted or asked for.

    Names of arrays are those that `raffia inspect` shows, with a part in brackets if only that is meant, such as ``u[:,0]``.
    ``FILE:NAME`` is an array in another file. Each field is an argument of `raffia.data.open_source` and an option of `raffia fit`
    and `raffia inspect`.
    """

    input: Names | None = _option("--input", list[str], "Array of the inputs; several are channels.")
    output: Names | None = _option("--output", list[str], "Array of the outputs; several are channels.")
    output_path: Any = _option("--outputs", Path, "A second file, with the outputs.")
    parameters: Any = _option(
        "--parameters", Path, "A table with the inputs: a row for each sample, or for each file of a folder."
    )
    coordinates: Names | None = _option(
        "--coordinates", list[str], "Array of the coordinates of nodes, or of a grid axis, again for more; FILE:NAME."
    )
    cells: str | None = _option("--cells", str, "Array of the cells of a mesh.")
    mask: str | None = _option("--mask", str, "Array that is zero at nodes without values.")
    samples_axis: SamplesAxis = _option(
        "--samples-axis",
        str,
        "The axis that counts samples, from 0: one for all arrays, or one each, as in 0,1; none where they are one sample.",
    )
    reshape: str | tuple[int, ...] | None = _option(
        "--reshape", str, "The grid of samples that are stored along one axis, such as 26,22."
    )
    periodic: bool | None = _option("--periodic/--box", bool, "Grid convention, where the data do not show it.")
    axes: str | tuple[str, ...] | None = _option("--axes", str, f"Kinds of the axes, such as periodic,box: {', '.join(KINDS)}.")
    extent: float | tuple[float, ...] | None = _option("--extent", list[float], "Length of the domain; once, or once an axis.")
    vectors: bool = _option("--vectors", bool, "Inputs and outputs are vectors of numbers, and no functions.", False)
    input_vectors: bool = _option("--input-vectors", bool, "Inputs are vectors of numbers; outputs may be functions.", False)
    output_vectors: bool = _option("--output-vectors", bool, "Outputs are vectors of numbers; inputs may be functions.", False)
    table: str | None = _option(
        "--table",
        str,
        "What a table has: wide (a row a sample), long (a row a point of a sample) or columns (a column a sample).",
    )
    sample_column: Names | None = _option(
        "--sample-column", list[str], "Column of a long table that tells samples apart; again for more."
    )
    resample: str | int | None = _option(
        "--resample", str, "Bring curves on different points to so many, or to FIRST:LAST:POINTS."
    )
    files: str | None = _option("--files", str, "What the files of a folder or a pattern are: samples, or parts of them.")
    time: int | None = _option(
        "--time", int, "Axis of time in an array of trajectories, from 0; pairs are states and those that follow."
    )
    stride: int | None = _option("--stride", int, "Steps from a state of a trajectory to the next in a pair.", min=1)
    window: int | None = _option(
        "--window", int, "States of a trajectory in a row that go into a model; 2 if one does not determine the next.", min=1
    )
    horizon: int = _option("--horizon", int, "States of a trajectory that a model predicts at once.", 1, min=1)

    def __post_init__(self) -> None:
        if self.time is not None and (isinstance(self.time, bool) or not isinstance(self.time, Integral)):
            raise RaffiaError(f"{FLAGS['time']} (time=…) must be an axis, counted from 0; got {self.time!r}.")
        for name in ("stride", "window", "horizon"):
            value = getattr(self, name)
            if value is not None or name == "horizon":
                check_count(f"{FLAGS[name]} ({name}=…)", value)
        if self.periodic is not None and self.axes is not None:
            raise RaffiaError(
                f"periodic=… (--periodic, --box) and axes=… ({FLAGS['axes']}) say the same: give one of them, such as axes='periodic,box'."
            )

    @property
    def layout(self) -> Layout:
        """Where samples are in tables and folders, and the arrays that have a row for each."""
        first, last, points = resampling(self.resample)
        return Layout(
            table=self.table or "",
            samples=tuple(listed(self.sample_column)),
            coordinates=tuple(listed(self.coordinates)),
            first=first,
            last=last,
            points=points,
            files=self.files or "",
            wanted=(*listed(self.input), *listed(self.output)),
        )

    @property
    def grid(self) -> tuple[int, ...]:
        """The sizes of `reshape`, such as those in "26,22"; none where it is not given."""
        words = [] if self.reshape is None else str(self.reshape).strip("()[]").removesuffix(",").split(",")
        try:
            sizes = tuple(int(word) for word in words)
        except ValueError:
            sizes = (0,)
        if any(size < 1 for size in sizes) or len(sizes) > 3:
            raise RaffiaError(
                f"reshape=… ({FLAGS['reshape']}) must be the sizes of up to three axes, such as 26,22; got {self.reshape!r}."
            )
        return sizes

    @property
    def convention_given(self) -> bool:
        """Whether the kinds of the axes are given."""
        return self.periodic is not None or self.axes is not None

    def kinds(self, dim: int) -> tuple[Axis, ...] | None:
        """The kinds of the axes of a grid with `dim` of them; None where they are not given, or given for another grid."""
        if self.axes is None:
            return None if self.periodic is None else kinds_of("periodic" if self.periodic else "box", dim, "periodic")
        return kinds_of(self.axes, dim, f"axes=… ({FLAGS['axes']})") if len(names_of(self.axes)) in (1, dim) else None

    @property
    def of_trajectories(self) -> list[str]:
        """The flags of the options given that make sense for trajectories only."""
        given = [] if self.time is None else [FLAGS["time"]]
        return given + [FLAGS[name] for name in ("stride", "window", "horizon") if (getattr(self, name) or 1) > 1]

    @property
    def words(self) -> list[str]:
        """The options given, as they are typed on the command line."""
        words: list[str] = []
        for one in fields(self):
            value, (flag, _, negative) = getattr(self, one.name), one.metadata["flag"].partition("/")
            if value is None or value == one.default:
                continue
            if isinstance(value, bool):
                words.append(flag if value else negative)
            else:
                parts = listed(value) if one.metadata["kind"] == list[str] else [value]
                words += [word for part in parts for word in (flag, str(part))]
        return words


FLAGS = {one.name: one.metadata["flag"] for one in fields(ReadingOptions)}
"""The flag of each field on the command line."""
