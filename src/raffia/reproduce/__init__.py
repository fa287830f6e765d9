"""The tables and figures of the paper compared with ours, and experiments beyond them: results as files, and pages made of these."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from raffia.errors import RaffiaError
from raffia.pages import write
from raffia.reproduce import beyond, bridge, burgers, darcy
from raffia.reproduce.lab import Lab, Scale, reported
from raffia.reproduce.result import Result, anchor, read, section

VERSION = 1  # of the experiments: results made by another one are made again

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

BEYOND: dict[str, Callable[[Lab], Result]] = {
    f"beyond:{item.__name__}": item for item in (beyond.burgers, beyond.ridge, beyond.time_upscale, beyond.darcy)
}

PAGES = {
    "index.html": (ITEMS, "The paper, reproduced", "Nelsen and Stuart, SIAM Review (2024), compared with raffia."),
    "beyond.html": (BEYOND, "Beyond the paper", "The same experiments with features tuned on the same data."),
}


def chosen(item: str) -> list[str]:
    """The items that a word stands for: one of them, `beyond`, or `all`."""
    everything = [*ITEMS, *BEYOND]
    names = {"all": everything, "beyond": list(BEYOND)}.get(
        item, [name for name in everything if item in (name, name.split(":")[1])]
    )
    if not names:
        raise RaffiaError(f"ITEM must be all, beyond, or one of {', '.join(everything)}; got {item!r}.")
    return names


def run(items: list[str], lab: Lab, folder: Path) -> Iterator[tuple[Result, bool]]:
    """Each result, and whether it was there already; the pages are written anew after each."""
    store = folder / "results"
    store.mkdir(parents=True, exist_ok=True)
    made = {"scale": lab.scale, "device": lab.device, "version": VERSION}
    for name in items:
        path = store / f"{anchor(name)}-{lab.scale}.json"
        result = read(path) if path.exists() else None
        kept = result is not None and result.made == made
        if result is None or not kept:
            begun = time.perf_counter()
            result = (ITEMS | BEYOND)[name](lab)
            result.seconds, result.made = time.perf_counter() - begun, made
            result.write(path)
        pages(folder, lab.scale)
        yield result, kept


def pages(folder: Path, scale: Scale) -> None:
    """index.html and beyond.html, of whatever results there are at this scale."""
    for file, (names, title, introduction) in PAGES.items():
        links = {words: other for other, (_, words, _) in PAGES.items() if other != file}
        paths = [folder / "results" / f"{anchor(name)}-{scale}.json" for name in names]
        write(folder / file, title, introduction, [section(read(path)) for path in paths if path.exists()], links)


__all__ = ["BEYOND", "ITEMS", "Lab", "Result", "Scale", "chosen", "pages", "reported", "run"]
