"""Which files belong together, and whether each is a sample or holds a part of them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from raffia.data.readers.folders import parts, stacked
from raffia.data.readers.folders.files import Files, Read, opened
from raffia.data.readers.folders.names import natural
from raffia.data.readers.layout import PARTS, POINTS, SAMPLES, Layout
from raffia.data.readers.meshes.common import together
from raffia.data.readers.meshes.detect import ALONE, NAMING
from raffia.data.readers.tables.words import names_places
from raffia.data.readers.variable import Variable, files_of
from raffia.errors import RaffiaError

MOST = 2**14  # files
LEADS, LED = (".xdmf", ".xmf", ".pvd", *NAMING), (".h5", ".hdf5", *ALONE, *NAMING)
"""The endings of files that name others, and of those that are named."""
PIECE = re.compile(r"(?:part|chunk|shard|batch|piece)s?[\s_.-]*\d+(?:[\s_-]*of[\s_-]*\d+)?$", re.IGNORECASE)


def variables(path: Path, asked: Layout, read: Read, suffixes: Sequence[str]) -> dict[str, Variable]:
    """The arrays of all files of a folder or a pattern; rows are read from the files that have them."""
    paths = _found(path, suffixes)
    named = not asked.files and all(PIECE.search(file.stem) for file in paths)
    pieces = asked.files != SAMPLES and (named or asked.files == PARTS or bool(asked.table or asked.samples))
    inner = replace(asked, files="") if pieces else Layout(POINTS, wanted=asked.wanted)
    heads, notes = [opened(file, inner, read) for file in paths], list[str]()
    if not pieces:  # files with a mesh each are brought to that of the first
        heads, notes = together(heads)
    heads[0] = {name: replace(v, notes=(*v.notes, *notes)) for name, v in heads[0].items()}
    files = Files(path, paths, asked, heads)
    return parts.variables(files) if pieces or _in_parts(files) else stacked.variables(files)


def _in_parts(files: Files) -> bool:
    """Whether arrays have other numbers of rows in other files, the same in each: those of its samples."""
    uneven = [name for name in files.common if len({array.shape for array in files.of(name)}) > 1]
    if files.asked.files or not uneven or any(map(names_places, uneven)):
        return False
    alike = all(len({array.shape[1:] for array in files.of(name)}) == 1 for name in uneven)
    tabular = any(array.layout is not None for array in files.of(uneven[0]))
    return alike and not tabular and len(uneven) > 1 and parts.counts(files, uneven) is not None


def _belongs(file: Path, lead: Path) -> bool:
    """Whether a file holds values of another one, whose name it begins with."""
    return file.suffix.lower() in LED and file.suffix != lead.suffix and file.name.startswith(lead.stem)


def _found(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files, sorted as people count."""
    inside = [file for file in (path.iterdir() if path.is_dir() else files_of(path)) if not file.name.startswith(".")]
    known = [file for file in inside if file.suffix.lower() in suffixes]
    leads = [file for file in known if file.suffix.lower() in LEADS]
    known = [file for file in known if not any(_belongs(file, lead) for lead in leads)]
    if not known:
        raise RaffiaError(
            f"{path}: there is no file of a kind that raffia reads ({' '.join(suffixes)}). Pass a file, a Zarr store, a folder of "
            "files, or a pattern in quotes, such as 'runs/*.csv'."
        )
    several = sorted({file.suffix.lower() for file in known}, key=lambda suffix: (suffix not in LEADS, suffix))
    if len(several) > 1:
        raise RaffiaError(
            f"{path} holds files of several kinds ({', '.join(several)}), and those of one kind are a dataset. Pass a pattern in quotes, "
            f"such as '{path / '*' if path.is_dir() else '*'}{several[0]}'."
        )
    if len(known) > MOST:
        raise RaffiaError(f"{path} holds more than {MOST} files. Write their arrays into one.")
    return sorted(known, key=natural)
