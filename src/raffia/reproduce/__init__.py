"""The tables and figures of the paper compared with ours: results as files, and a page made of these."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from raffia.errors import RaffiaError
from raffia.pages import write
from raffia.reproduce import bridge, burgers, darcy
from raffia.reproduce.lab import Lab, Scale, reported
from raffia.reproduce.result import Result, anchor, read, section

VERSION = 2  # of the experiments: results made by another one are made again

ITEMS: dict[str, Callable[[Lab], Result]] = {
    "fig:bb_compare": bridge.bb_compare,
    "fig:rf_and_filter": burgers.rf_and_filter,
    "fig:sample_burg": burgers.sample_burg,
    "tab:time_upscale": burgers.time_upscale,
    "fig:gridtranfser_burg": burgers.gridtransfer_burg,
    "fig:gridsweep_burg": burgers.gridsweep_burg,
    "fig:rf_and_coef_darcy": darcy.rf_and_coef_darcy,
    "fig:darcy_inputoutput": darcy.darcy_inputoutput,
    "fig:gridtranfser_darcy": darcy.gridtransfer_darcy,
    "fig:gridsweep_darcy": darcy.gridsweep_darcy,
}
"""By the paper's own labels."""


def chosen(item: str) -> list[str]:
    """The items that a word stands for: one of them, or `all`."""
    names = list(ITEMS) if item == "all" else [name for name in ITEMS if item in (name, name.split(":")[1])]
    if not names:
        raise RaffiaError(f"ITEM must be all, or one of {', '.join(ITEMS)}; got {item!r}.")
    return names


def run(items: list[str], lab: Lab, folder: Path) -> Iterator[tuple[Result, bool]]:
    """Each result, and whether it was there already; the page is written anew after each."""
    store = folder / "results"
    store.mkdir(parents=True, exist_ok=True)
    made = {"scale": lab.scale, "device": lab.device, "version": VERSION}
    for name in items:
        path = store / f"{anchor(name)}-{lab.scale}.json"
        result = read(path) if path.exists() else None
        kept = result is not None and result.made == made
        if result is None or not kept:
            begun = time.perf_counter()
            result = ITEMS[name](lab)
            result.seconds, result.made = time.perf_counter() - begun, made
            result.write(path)
        write_index(folder, lab.scale)
        yield result, kept


def write_index(folder: Path, scale: Scale) -> None:
    """Write index.html, of whatever results there are at this scale."""
    paths = [folder / "results" / f"{anchor(name)}-{scale}.json" for name in ITEMS]
    sections = [section(read(path)) for path in paths if path.exists()]
    title, introduction = "The paper, reproduced", "Nelsen and Stuart, SIAM Review (2024), compared with raffia."
    write(folder / "index.html", title, introduction, sections)


__all__ = ["ITEMS", "Lab", "Result", "Scale", "chosen", "reported", "run", "write_index"]
