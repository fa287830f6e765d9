"""A server of trained models, by aiohttp: it answers requests until a signal comes, and then finishes those it has begun."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from raffia.data import Source
from raffia.errors import RaffiaError
from raffia.interrupts import SIGNALS
from raffia.model import RandomFeatureModel
from raffia.serve.exhibit import Exhibit
from raffia.serve.gathering import Gatherer
from raffia.serve.protocol import Answer, Bridge, Refusal
from raffia.serve.served import Served

FINISH = 10.0  # seconds in which requests at hand are answered before the server stops
LINGER = 1.0  # seconds in which a client that was refused may go on sending, so that it reads why
LARGE, LARGE_AT_ONCE = 2**20, 8  # bytes of a large body, and how many of them are read at the same time
ASSETS = Path(__file__).parent / "assets"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
}


@dataclass(frozen=True, kw_only=True)
class Server:
    """Models, where to listen, and how much to take. It keeps nothing between requests: started again after whatever end, it answers
    as before."""

    models: Mapping[str, Served]
    host: str = "127.0.0.1"
    port: int = 4242
    """Where clients of UM-Bridge look first; 0 takes any that is free."""
    page: Mapping[str, Exhibit] | None = None
    """The models on the page, if there is one."""
    largest: int = 32 * 10**6
    """Bytes of the body of a request."""
    seconds: float = 60.0
    """For a request to arrive, and for a client to take its answer."""
    connections: int = 512
    """At a time; further ones get status 503."""
    large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))

    def run(self, started: Callable[[str], None]) -> int:
        """Serve until a signal comes, and return its number; `started` is called with the address."""
        return asyncio.run(self._until_a_signal(started))

    async def serve(self, stopped: Awaitable[object], started: Callable[[str], None]) -> None:
        """Serve until `stopped` is done; requests that have come by then are answered."""
        logging.getLogger("aiohttp.server").addHandler(logging.NullHandler())  # malformed requests are no news
        gatherer = Gatherer()
        limits: dict[str, Any] = {"keepalive_timeout": self.seconds, "lingering_time": LINGER, "shutdown_timeout": FINISH}
        runner = web.AppRunner(self.application(gatherer), access_log=None, auto_decompress=False, **limits)
        await runner.setup()
        handlers: Any = runner.server

        def connected() -> asyncio.Protocol:
            return _Busy() if len(handlers.connections) >= self.connections else handlers()

        try:
            loop = asyncio.get_running_loop()
            listening = await loop.create_server(connected, self.host, self.port, backlog=self.connections)
        except OSError as error:
            number = error.errno or 0  # below zero where the name of a machine is unknown
            why = os.strerror(number) if number > 0 else error.strerror
            raise RaffiaError(f"--host {self.host} --port {self.port} cannot be listened on ({why}): choose another.") from None
        host = f"[{self.host}]" if ":" in self.host else self.host
        started(f"http://{host}:{listening.sockets[0].getsockname()[1]}")
        await stopped
        listening.close()
        await runner.cleanup()
        gatherer.close()
        await asyncio.sleep(0)  # in which sockets are closed

    def application(self, gatherer: Gatherer) -> web.Application:
        """The calls of the protocol, and the page with its requests."""
        bridge = Bridge(self.models, gatherer)
        app = web.Application(middlewares=[self._answer], client_max_size=self.largest)
        app.router.add_get("/Info", self._handler(bridge.info))
        for path, answer in bridge.calls.items():
            app.router.add_post(path, self._handler(answer, body=True))
        if self.page is None:
            app.router.add_get("/", self._handler(bridge.info))  # HEAD asks whether the server is there
            return app
        exhibits = self.page

        async def index(request: web.Request) -> web.FileResponse:
            return web.FileResponse(ASSETS / "index.html")

        async def models(asked: dict[str, Any]) -> Any:
            return await gatherer.run(lambda: [exhibit.described for exhibit in exhibits.values()])

        def computed(name: str) -> Answer:
            async def answer(asked: dict[str, Any]) -> Any:
                return await gatherer.run(getattr(exhibits[bridge.model_of(asked).name], name), asked)

            return answer

        app.router.add_get("/", index)
        app.router.add_get("/page/models", self._handler(models))
        for name in ("predict", "move", "pair"):
            app.router.add_post(f"/page/{name}", self._handler(computed(name), body=True))
        app.router.add_static("/page", ASSETS)
        return app

    def _handler(self, answer: Answer, body: bool = False) -> Callable[[web.Request], Awaitable[web.Response]]:
        """What aiohttp calls for a request: the answer to its JSON body, if it has one."""

        async def handle(request: web.Request) -> web.Response:
            return _reply(await answer(await self._body(request) if body else {}))

        return handle

    async def _body(self, request: web.Request) -> dict[str, Any]:
        """The JSON object of a body, whatever content type it says it has."""
        try:
            async with nullcontext() if 0 <= (request.content_length or -1) < LARGE else self.large:
                async with asyncio.timeout(self.seconds):
                    asked = orjson.loads(await request.read())
        except TimeoutError:
            raise RaffiaError(f"the body did not arrive within {self.seconds:g} seconds.") from None
        except ValueError as error:
            raise RaffiaError(f"the body must be JSON ({error}).") from None
        if type(asked) is not dict:
            raise RaffiaError(f"the body must be a JSON object; got {asked!r:.80}.")
        return asked

    @web.middleware
    async def _answer(self, request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
        """Answer; errors are answers of the protocol too, and a client that does not read its answer is left."""
        try:
            response = await handler(request)
        except Refusal as error:
            response = _refused(str(error), error.kind, error.status)
        except RaffiaError as error:
            response = _refused(str(error))
        except web.HTTPRequestEntityTooLarge:
            response = _refused(f"a body must have at most {self.largest:,} bytes. Start the server with a larger --limit.")
        except web.HTTPException as error:  # no such path, or another method
            kind = "UnsupportedFeature" if error.status == 404 else "InvalidInput"
            response = _refused(f"{request.method} {request.path[:80]!r}: {error.reason}.", kind, error.status)
        except Exception as error:  # of one request: the server goes on with others
            words = " ".join(str(error).split())[:500]
            response = _refused(f"the model failed ({type(error).__name__}: {words}).", "InvalidOutput", 500)
        response.headers.update(HEADERS)
        try:
            async with asyncio.timeout(self.seconds):
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _until_a_signal(self, started: Callable[[str], None]) -> int:
        loop = asyncio.get_running_loop()
        came: asyncio.Future[int] = loop.create_future()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # which nohup sets
                loop.add_signal_handler(number, _first, came, int(number))
        await self.serve(came, started)
        return came.result()


def _reply(content: Any, status: int = 200) -> web.Response:
    """An answer in JSON; NumPy arrays become lists."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return web.Response(status=status, body=body, content_type="application/json")


def _refused(message: str, kind: str = "InvalidInput", status: int = 400) -> web.Response:
    return _reply({"error": {"type": kind, "message": message}}, status)


class _Busy(asyncio.Protocol):
    """A connection beyond those that the server takes."""

    def connection_made(self, transport: Any) -> None:
        transport.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        transport.close()


def _first(came: "asyncio.Future[int]", number: int) -> None:
    if not came.done():
        came.set_result(number)


@contextmanager
def serving(
    models: Mapping[str, RandomFeatureModel], page: bool = False, pairs: Mapping[str, Source] | None = None, **options: Any
) -> Iterator[str]:
    """In the block, trained models are served by a thread; the value is the address.

    With `page`, also a page to try them, with `pairs` of files to compare with; `options` are those of `Server`.
    """
    served = {name: Served(name, model) for name, model in models.items()}
    exhibits = {name: Exhibit(one, (pairs or {}).get(name)) for name, one in served.items()} if page else None
    server = Server(models=served, **{"port": 0, "page": exhibits, **options})
    loop, address = asyncio.new_event_loop(), Future[str]()
    stop = loop.create_future()

    def work() -> None:
        try:
            loop.run_until_complete(server.serve(stop, address.set_result))
        except RaffiaError as error:
            address.set_exception(error)
        finally:
            loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield address.result()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set_result, None)
        thread.join()
