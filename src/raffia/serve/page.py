"""A page to play with models: what it looks like lies in `assets`, and what it asks for is answered here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raffia.data.reading import Source
from raffia.serve.exhibit import Exhibit
from raffia.serve.http import Response, reply
from raffia.serve.protocol import Bridge, Refusal, parsed, vector_of, wanted
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
        """What the page asks for, and its files."""
        desk = _Desk(bridge, {name: Exhibit(served, self.pairs.get(name)) for name, served in self.models.items()})
        files = {("GET", f"/page/{file.name}"): _file(file) for file in sorted(ASSETS.iterdir())}
        return files | {
            ("GET", "/"): files["GET", "/page/index.html"],
            ("GET", "/page/models"): desk.models,
            ("POST", "/page/predict"): desk.predict,
            ("POST", "/page/move"): desk.move,
            ("POST", "/page/pair"): desk.pair,
        }


@dataclass(frozen=True)
class _Desk:
    """Answers what the page asks for."""

    bridge: Bridge
    exhibits: dict[str, Exhibit]

    async def models(self, body: bytes) -> Response:
        return reply([await self._run(lambda one=one: one.described) for one in self.exhibits.values()])

    async def predict(self, body: bytes) -> Response:
        asked = parsed(body)
        exhibit, grid = self._exhibit(asked), self._grid(asked, "grid")
        input = vector_of("input", wanted(asked, "input"), exhibit.served.at(grid).input_size)
        level = asked.get("level")
        if level is not None and level not in exhibit.described["levels"]:
            raise Refusal("InvalidInput", f"level must be one of {exhibit.described['levels']}; got {level!r:.80}.")
        return reply(await self._run(exhibit.predicted, input, grid, level))

    async def move(self, body: bytes) -> Response:
        asked = parsed(body)
        exhibit, here, there = self._exhibit(asked), self._grid(asked, "from"), self._grid(asked, "grid")
        input = vector_of("input", wanted(asked, "input"), exhibit.served.at(here).input_size)
        return reply({"input": await self._run(exhibit.moved, input, here, there)})

    async def pair(self, body: bytes) -> Response:
        asked = parsed(body)
        number = wanted(asked, "number")
        if type(number) is not int:
            raise Refusal("InvalidInput", f"number must be that of a pair; got {number!r:.80}.")
        return reply(await self._run(self._exhibit(asked).pair, number, self._grid(asked, "grid")))

    def _exhibit(self, asked: dict[str, Any]) -> Exhibit:
        return self.exhibits[self.bridge.model_of(asked).name]

    def _grid(self, asked: dict[str, Any], name: str) -> tuple[int, ...] | None:
        return self.bridge.grid_of({"config": {"grid": asked[name]}} if asked.get(name) else {})

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await self.bridge.gatherer.run(function, *arguments)


def _file(path: Path) -> Answer:
    response = Response(200, path.read_bytes(), {"Content-Type": TYPES[path.suffix], **HEADERS})

    async def answer(body: bytes) -> Response:
        return response

    return answer
