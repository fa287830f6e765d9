"""A server of trained models: it answers requests until a signal comes, and then finishes those it has begun."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from raffia.data import Source
from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.serve.gathering import Gatherer
from raffia.serve.http import Listener, check_installed
from raffia.serve.page import Page
from raffia.serve.protocol import Bridge, refused
from raffia.serve.served import Served

FINISH = 10.0  # seconds in which requests at hand are answered before the server stops
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Server:
    """Models, where to listen, and how much to take. It keeps nothing between requests: started again after whatever end, it answers
    as before."""

    models: Mapping[str, Served]
    host: str = "127.0.0.1"
    port: int = 4242
    """Where clients of UM-Bridge look first; 0 takes any that is free."""
    page: Page | None = None
    largest: int = 32 * 10**6
    """Bytes of the body of a request."""
    seconds: float = 60.0
    """For a request to arrive."""
    connections: int = 512
    """At a time."""

    def run(self, started: Callable[[str], None]) -> int:
        """Serve until a signal comes, and return its number; `started` is called with the address."""
        return asyncio.run(self._until_a_signal(started))

    async def serve(self, stopped: Awaitable[object], started: Callable[[str], None]) -> None:
        """Serve until `stopped` is done; requests that have come by then are answered."""
        check_installed()
        gatherer = Gatherer()
        bridge = Bridge(self.models, gatherer)
        if self.page is not None:
            bridge.routes |= self.page.routes(bridge)
        server = Listener(bridge, refused, self.largest, self.seconds, self.connections).server()
        loop = asyncio.get_running_loop()
        try:
            listening = await loop.create_server(server, self.host, self.port, backlog=self.connections)
        except OSError as error:
            number = error.errno or 0  # below zero where the name of a machine is unknown
            why = os.strerror(number) if number > 0 else error.strerror
            raise RaffiaError(f"--host {self.host} --port {self.port} cannot be listened on ({why}): choose another.") from None
        started(self._url(listening.sockets[0].getsockname()[1]))
        await stopped
        listening.close()
        server.pre_shutdown()
        await server.shutdown(FINISH)
        gatherer.close()
        await asyncio.sleep(0)  # in which sockets are closed

    async def _until_a_signal(self, started: Callable[[str], None]) -> int:
        loop = asyncio.get_running_loop()
        came: asyncio.Future[int] = loop.create_future()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # which nohup sets
                loop.add_signal_handler(number, _first, came, int(number))
        await self.serve(came, started)
        return came.result()

    def _url(self, port: int) -> str:
        return f"http://[{self.host}]:{port}" if ":" in self.host else f"http://{self.host}:{port}"


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
    shown = Page(served, pairs or {}) if page else None
    server = Server(served, **{"port": 0, "page": shown, **options})
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
