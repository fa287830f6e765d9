"""Atomic writes: a reader sees the old file or the new one, never a half."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raffia.errors import RaffiaError


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` if the block succeeds, remove it otherwise."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise RaffiaError(f"cannot write {target}: {error.strerror}. Choose a folder that exists and is writable.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files private; a saved model is an ordinary file
        temporary.replace(target)
    except OSError as error:
        raise RaffiaError(f"cannot write {target}: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)
