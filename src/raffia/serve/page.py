"""A browser page to try models: its files are in `assets`, and what it asks for is answered here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raffia.data.source import Source
from raffia.serve.exhibit import Exhibit
from raffia.serve.http import Response, reply
from raffia.serve.protocol import Bridge, Refusal, grid_of, parsed, vector_of, wanted
from raffia.serve.served import Served

ASSETS = Path(__file__).parent / "assets"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
HEADERS = {"Cache-Control": "no-cache", "Content-Security-Policy": "default-src 'self'; img-src 'self' data:"}

Answer = Callable[[bytes], Awaitable[Response]]


@dataclass(frozen=True)
class Page:
    """The page of some models, with pairs to compare with for those that have a file."""

    models: Mapping[str, Served]
    pairs: Mapping[str, Source] = field(default_factory=dict)

    def routes(self, bridge: Bridge) -> dict[tuple[str, str], Answer]:
        """The files of the page, and its requests, which are computed in the thread of all computations."""
        exhibits = {name: Exhibit(served, self.pairs.get(name)) for name, served in self.models.items()}

        async def models(body: bytes) -> Response:
            return reply(await bridge.gatherer.run(lambda: [exhibit.described for exhibit in exhibits.values()]))

        def computed(compute: Callable[[Exhibit, dict[str, Any]], dict[str, Any]]) -> Answer:
            async def answer(body: bytes) -> Response:
                asked = parsed(body)
                return reply(await bridge.gatherer.run(compute, exhibits[bridge.model_of(asked).name], asked))

            return answer

        files = {("GET", f"/page/{file.name}"): _file(file) for file in sorted(ASSETS.iterdir())}
        requests = {("POST", f"/page/{name}"): computed(compute) for name, compute in REQUESTS.items()}
        return files | requests | {("GET", "/"): files["GET", "/page/index.html"], ("GET", "/page/models"): models}


def _predict(exhibit: Exhibit, asked: dict[str, Any]) -> dict[str, Any]:
    level, levels, grid = asked.get("level"), exhibit.described["levels"], _grid(asked, "grid")
    if level is not None and level not in levels:
        raise Refusal("InvalidInput", f"level must be one of {levels}; got {level!r:.80}.")
    return exhibit.predicted(_input(exhibit, asked, grid), grid, level)


def _move(exhibit: Exhibit, asked: dict[str, Any]) -> dict[str, Any]:
    here, there = _grid(asked, "from"), _grid(asked, "grid")
    return {"input": exhibit.moved(_input(exhibit, asked, here), here, there)}


def _pair(exhibit: Exhibit, asked: dict[str, Any]) -> dict[str, Any]:
    number = wanted(asked, "number")
    if type(number) is not int:
        raise Refusal("InvalidInput", f"number must be that of a pair; got {number!r:.80}.")
    return exhibit.pair(number, _grid(asked, "grid"))


REQUESTS = {"predict": _predict, "move": _move, "pair": _pair}


def _input(exhibit: Exhibit, asked: dict[str, Any], grid: tuple[int, ...] | None) -> Any:
    return vector_of("input", wanted(asked, "input"), exhibit.served.at(grid).input_size)


def _grid(asked: dict[str, Any], name: str) -> tuple[int, ...] | None:
    return grid_of({"grid": asked[name]} if asked.get(name) else None)


def _file(path: Path) -> Answer:
    response = Response(200, path.read_bytes(), {"Content-Type": TYPES[path.suffix], **HEADERS})

    async def answer(body: bytes) -> Response:
        return response

    return answer
