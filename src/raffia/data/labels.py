"""Labels of samples: an array of a file with one entry a sample, numbers or texts, such as the run or the trajectory it is of."""

import numpy as np

from raffia.data.meaning.names import contents
from raffia.data.readers import variables
from raffia.data.source import Source
from raffia.errors import RaffiaError


def labels_in(source: Source, name: str) -> np.ndarray:
    """The array of this name in the file of the inputs, or of the outputs."""
    parts = [part.variable for part in (*source.inputs, *source.outputs)]
    layouts = {source.path: parts[0].layout} | {v.path: v.layout for v in parts}
    held = {path: variables(path, layout) for path, layout in layouts.items()}
    found = next((arrays[name] for arrays in held.values() if name in arrays), None)
    if found is None:
        raise RaffiaError(
            f"groups={name!r} (--groups): {source.path} has no array of that name. {contents(held[source.path])} "
            "Name one with an entry for each sample."
        )
    return found.glance()
