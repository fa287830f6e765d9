"""Files damaged at random, and a worker that reads them, so that a crash of a C library is seen and not suffered.

Run as `python -m tests.data.damage EXAMPLE FOLDER FIRST LAST`: damages the example once for each seed and reads it. The number of
every seed is written before its file is read; what is no RaffiaError and no success is printed.
"""

import faulthandler
import os
import random
import resource
import shutil
import sys
import warnings
from pathlib import Path

from raffia import RaffiaError, load
from raffia.data import open_source, variables

SECONDS, MEMORY = 10, 3 * 2**30
NUMBERS = [bytes(4), bytes(8), b"\xff" * 4, b"\xff" * 8, b"\x7f" + b"\xff" * 3, b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut off, left out, doubled, moved, or put in."""
    body = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not body:
            break
        place, length = rng.randrange(len(body)), rng.choice([1, 2, 8, 64, 512])
        if rng.random() < 0.5:
            place = rng.randrange(min(len(body), 2048))  # headers are where it hurts
        how = rng.randrange(7)
        if how == 0:
            del body[place:]
        elif how == 1:
            del body[place : place + length]
        elif how == 2:
            body[place:place] = rng.randbytes(length)
        elif how == 3:
            other = rng.randrange(len(body))
            body[place : place + length] = body[other : other + length]
        elif how == 4:
            number = rng.choice(NUMBERS)
            body[place : place + len(number)] = number
        else:
            for _ in range(rng.choice([1, 1, 3, 16])):
                body[rng.randrange(len(body)) if how == 5 else place] ^= 1 << rng.randrange(8)
                place = min(place + 1, len(body) - 1)
    return bytes(body)


def damaged_copy(example: Path, folder: Path, seed: int) -> Path:
    """The example, or for a folder one file in it, damaged."""
    rng, copy = random.Random(seed), folder / example.name
    if not example.is_dir():
        copy.write_bytes(damaged(example.read_bytes(), rng))
        return copy
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(example, copy)
    victim = rng.choice(sorted(file for file in copy.rglob("*") if file.is_file()))
    if (chance := rng.random()) < 0.2:
        victim.unlink()
        if chance < 0.1:
            victim.symlink_to(example / victim.relative_to(copy))
    else:
        victim.write_bytes(damaged(victim.read_bytes(), rng))
    return copy


def attempt(path: Path) -> str:
    """Read all that raffia reads of a file: 'read', 'refused', or the name of an error that should not be."""
    verdict = "read"
    steps = [lambda: load(path)] if path.suffix == ".safetensors" else [lambda: read_all(path), lambda: guess(path)]
    for step in steps:
        try:
            step()
        except RaffiaError as error:
            verdict = "refused" if path.name in str(error) else f"no name of the file in {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return verdict


def read_all(path: Path) -> None:
    for variable in list(variables(path).values())[:64]:
        variable.read(slice(0, variable.affordable(min(64, (variable.shape or (1,))[0]))))


def guess(path: Path) -> None:
    for name in ("a",) if path.suffix == ".npy" else ("y", "k"):
        source = open_source(path, input="a", output=name, periodic=False)
        source.read(range(0, min(2, len(source))))


def main(example: Path, folder: Path, first: int, last: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    seen, state = {"read": 0, "refused": 0}, folder / "seed"
    for seed in range(first, last):
        path = damaged_copy(example, folder, seed)
        state.write_text(str(seed))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        verdict = attempt(path)
        faulthandler.cancel_dump_traceback_later()
        if verdict not in seen:
            print(f"seed {seed}: {verdict}", flush=True)
        seen[verdict] = seen.get(verdict, 0) + 1
    print(f"read {seen['read']} refused {seen['refused']}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    os._exit(0)
