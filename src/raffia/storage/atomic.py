"""Atomic writes: a reader sees the old file or the new one, never a half."""

import errno
import os
import platform
import re
import secrets
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from raffia.errors import RaffiaError

MACHINE, PROCESS = f"{zlib.crc32(platform.node().encode()):08x}", secrets.token_hex(4)


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it onto `path` if the block succeeds, remove it otherwise.

    The temporary name says who writes, so that what a killed process has left is removed by the next that writes to `path`.
    """
    target = destination(path)
    remove_leftovers(target)
    prefix = f".{target.name}.{MACHINE}-{os.getpid()}-{PROCESS}-"
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=target.suffix)
    except OSError as error:
        raise RaffiaError(f"cannot write {path}: {error.strerror}. Choose a folder that exists and is writable.") from None
    temporary = Path(name)
    try:
        os.close(handle)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files private; a saved model is an ordinary file
        temporary.replace(target)
    except OSError as error:
        raise RaffiaError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def destination(path: str | os.PathLike[str]) -> Path:
    """The file that a write to `path` replaces: itself, or the one its symbolic links lead to. Only a plain file may be there."""
    target = Path(os.path.realpath(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        kind = "a folder" if target.is_dir() else "a link that leads to itself" if target.is_symlink() else "a pipe or a device"
        raise RaffiaError(f"cannot write {path}: it is {kind}. Name a file, which may exist or not.")
    return target


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files for `target` whose processes, of this machine, are gone; those still being written stay."""
    written_by = re.compile(rf"\.{re.escape(target.name)}\.{MACHINE}-(\d{{1,9}})-(\w+)-\w+{re.escape(target.suffix)}")
    for left in target.parent.glob(".*"):
        writer = written_by.fullmatch(left.name)
        if writer and not _runs(int(writer[1]), writer[2]):
            with suppress(OSError):  # somebody else's, which we may not remove
                left.unlink(missing_ok=True)


def _runs(number: int, process: str) -> bool:
    """Whether a process runs; one with the number of this process may be an earlier one, as numbers in containers begin again."""
    if number == os.getpid():
        return process == PROCESS
    try:
        os.kill(number, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True
