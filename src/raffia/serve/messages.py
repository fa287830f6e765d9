"""JSON in and out, by orjson: of a field with thousands of numbers, Python's own takes longer than the prediction."""

from typing import Any

from raffia.errors import RaffiaError
from raffia.serve.http import Response


def check_installed() -> None:
    """Say what is missing before anything is asked."""
    try:
        import orjson  # noqa: F401
    except ImportError:
        raise RaffiaError("raffia serve needs orjson: pip install orjson, or raffia[serve].") from None


def read(body: bytes) -> Any:
    """What JSON says; a ValueError where it is none, which NaN and infinities are not."""
    import orjson

    return orjson.loads(body)


def reply(content: Any, status: int = 200) -> Response:
    """An answer in JSON; NumPy arrays are lists, and their numbers must be finite."""
    import orjson

    return Response(status, orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY))
