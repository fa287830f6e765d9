"""HTTP by aiohttp, with limits on the size and the time of requests and on the number of connections."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from raffia.errors import RaffiaError

LARGE = 2**20
"""Bytes of a large body."""
LARGE_AT_ONCE = 8
"""Large bodies that are read at the same time."""
BUFFERED = 2**15
"""Bytes of an answer that are written without waiting for the client."""
LINGER = 0.2
"""Seconds in which a client that sends no more is answered, or one that was refused reads why."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True)
class Response:
    """An answer: status, body and headers."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def check_installed() -> None:
    """Raise an error if the packages of the extra `serve` are missing."""
    try:
        import aiohttp  # noqa: F401
        import orjson  # noqa: F401
    except ImportError as error:
        raise RaffiaError(f"raffia serve needs {error.name}: pip install 'raffia[serve]'.") from None


def read(body: bytes) -> Any:
    """The content of a JSON body; a ValueError if it is not JSON, as NaN and infinities are not."""
    import orjson

    return orjson.loads(body)


def reply(content: Any, status: int = 200) -> Response:
    """An answer in JSON; NumPy arrays become lists."""
    import orjson

    return Response(status, orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY))


class BadRequest(Exception):
    """A request that is too large, too slow or not HTTP: the connection closes after the answer."""


@dataclass(frozen=True)
class Listener:
    """Answers requests by `answer(method, path, body)`, and malformed ones by `refuse(message)`."""

    answer: Callable[[str, str, bytes], Awaitable[Response]]
    refuse: Callable[[str], Response]
    largest: int
    """Bytes of a body."""
    seconds: float
    """For a request to arrive, and for a client to take its answer."""
    connections: int
    """At the same time; further ones get status 503."""
    large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))

    def server(self) -> Any:
        """The protocol factory of an asyncio server."""
        from aiohttp import ClientPayloadError, web

        loop, refuse, most = asyncio.get_running_loop(), self.refuse, self.connections
        options: dict[str, Any] = {"keepalive_timeout": self.seconds, "auto_decompress": False, "access_log": None}

        class Refused(web.Response):
            async def write_eof(self, data: bytes = b"") -> None:
                await super().write_eof(data)
                await asyncio.sleep(LINGER)  # in which what the client still sends is read, so that it gets the answer

        class Connection(web.RequestHandler):
            request: Any = None
            asked = False

            def data_received(self, data: bytes) -> None:
                self.asked = True
                super().data_received(data)

            def eof_received(self) -> Any:
                loop.call_later(LINGER if self.asked else 0, self.close_if_idle)
                return True  # a client that sends no more may still read

            def close_if_idle(self) -> None:
                if self.request is not None and not self.request.content.is_eof():
                    self.request.content.set_exception(ClientPayloadError("it ends too early"))
                elif self.request is None and self.transport is not None:
                    self.transport.close()

            def handle_error(self, request: Any, status: int = 500, exc: Any = None, message: str | None = None) -> Any:
                self.close()
                return _sent(Refused, refuse(f"the request is not valid HTTP ({_line(message)})."), close=True)

        class Connections(web.Server):
            def __call__(self) -> Any:
                if len(self.connections) >= most:
                    return Busy(refuse("the server has as many connections as it takes: try again later."))
                return Connection(self, loop=loop, **options)

        request = partial(web.BaseRequest, loop=loop, client_max_size=self.largest)
        return Connections(self._handle, request_factory=request)

    async def _handle(self, request: Any) -> Any:
        from aiohttp import web

        request.protocol.request = request
        try:
            body = await self._body(request)
            answer = await self.answer(request.method, request.path, body)
            response = _sent(web.Response, answer)
            if len(answer.body) > BUFFERED:
                async with asyncio.timeout(self.seconds):
                    await response.prepare(request)
                    await response.write_eof()
        except BadRequest as error:
            response = _sent(web.Response, self.refuse(str(error)), close=True)
        except TimeoutError:  # the client does not read the answer
            request.transport.abort()
        finally:
            request.protocol.request, request.protocol.asked = None, False
        return response

    async def _body(self, request: Any) -> bytes:
        from aiohttp import ClientPayloadError, http_exceptions, web

        if request.version not in ((1, 0), (1, 1)) or (request.version == (1, 1) and "Host" not in request.headers):
            raise BadRequest("a request must be HTTP/1.0, or HTTP/1.1 with a Host.")
        length = request.content_length or 0
        try:
            if length > self.largest:
                raise web.HTTPRequestEntityTooLarge(self.largest, length)
            if request.headers.get("Expect", "").lower() == "100-continue":
                await request.writer.write(CONTINUE)
                request.writer.output_size = 0
            if request.content.is_eof():
                return await request.read()  # small bodies come with the head
            async with self.large if request.body_exists and not 0 < length < LARGE else nullcontext():
                async with asyncio.timeout(self.seconds):
                    return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise BadRequest(
                f"a body must have at most {self.largest:,} bytes; more came. Start the server with a larger --limit."
            ) from None
        except TimeoutError:
            raise BadRequest(f"the body did not arrive within {self.seconds:g} seconds.") from None
        except (ClientPayloadError, http_exceptions.HttpProcessingError) as error:
            raise BadRequest(f"the body is not valid HTTP ({_line(str(error))}).") from None


def _sent(kind: Any, response: Response, close: bool = False) -> Any:
    """An answer of aiohttp."""
    made = kind(status=response.status, body=response.body, headers={"X-Content-Type-Options": "nosniff", **response.headers})
    if close:
        made.force_close()
    return made


def _line(message: str | None) -> str:
    return " ".join((message or "").split())[:200]


class Busy(asyncio.Protocol):
    """A connection that gets an answer with status 503 and is closed."""

    def __init__(self, refusal: Response) -> None:
        head = f"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: {len(refusal.body)}\r\n"
        self.content = f"{head}Content-Type: application/json\r\n\r\n".encode() + refusal.body

    def connection_made(self, transport: Any) -> None:
        """Send the answer."""
        transport.write(self.content)
        transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER, transport.abort)
