"""Trained models for other programs, by the protocol UM-Bridge 1.0, and a page to try them in a browser."""

from raffia.errors import RaffiaError

try:
    import aiohttp as aiohttp
    import orjson as orjson
except ImportError as error:
    raise RaffiaError(f"raffia serve needs {error.name}: pip install 'raffia[serve]'.") from None

from raffia.serve.exhibit import Exhibit
from raffia.serve.served import Served
from raffia.serve.server import Server, serving

__all__ = ["Exhibit", "Served", "Server", "serving"]
