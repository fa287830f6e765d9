"""HTTP/1.1 as a server of small JSON messages needs it, on asyncio's streams: strict in what it takes, with limits on all of it.

A request has a head of at most 64 KiB and a body of a known length or in chunks, up to the limit; both must arrive in time. Connections
are kept for further requests. What is not understood is refused with 400, and the connection closed.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from math import inf
from time import monotonic
from urllib.parse import urlsplit

HEAD_LIMIT = 2**16
LARGE = 2**20  # bytes of a body; so many bodies beyond it are read at once
LARGE_AT_ONCE = 8
LINGER = 10.0  # seconds in which a client may finish sending what was refused, so that it reads why
REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP/1\.([01])", re.ASCII)
FIELD = re.compile(r"([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*", re.ASCII)


@dataclass(frozen=True)
class Request:
    """What a client asks: a path without its query, and the bytes of the body."""

    method: str
    path: str
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """What it gets."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[str, ...] = ()


class BadRequest(Exception):
    """A request that is no HTTP, or too large or too slow; the connection cannot go on."""


@dataclass
class Conversation:
    """Answers the requests of each connection one after another by `answer`; `refuse` makes an answer of what is wrong with one."""

    answer: Callable[[Request], Awaitable[Response]]
    refuse: Callable[[str], Response]
    largest: int
    """Bytes of a body."""
    seconds: float
    """For a request to arrive, and for a client to take its answer."""
    most: int
    """Connections at a time; others are told to come again."""
    stopping: bool = False
    """Whether connections close after the request at hand."""
    connections: dict["asyncio.Task[None]", "_Connection"] = field(default_factory=dict)
    _large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk with one client until it leaves, is silent for too long, or says what cannot be understood."""
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this in a task of its own
        connection = self.connections[task] = _Connection(reader, writer, self.seconds)
        try:
            if len(self.connections) > self.most:
                await connection.send(_busy(self.refuse), keep=False)
            else:
                await self._requests(connection)
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, nothing has come from it, or the server stops
        finally:
            del self.connections[task]
            writer.close()

    async def watch(self) -> None:
        """Once a second, end waits that take too long: one clock for all is cheaper than one for each request."""
        while True:
            await asyncio.sleep(1)
            for connection in [*self.connections.values()]:
                connection.check()

    @property
    def busy(self) -> list["asyncio.Task[None]"]:
        """Connections with a request that has not been answered."""
        return [task for task, connection in self.connections.items() if connection.asked]

    async def _requests(self, connection: "_Connection") -> None:
        keep = True
        while keep and not self.stopping:
            try:
                head = await connection.head()
                request, keep = await self._request(head, connection)
            except BadRequest as error:
                await connection.send(self.refuse(str(error)), keep=False)
                await connection.hear_out()
                return
            connection.waits(None)
            response = await self.answer(request)
            keep = keep and not self.stopping
            await connection.send(response, keep, head=request.method == "HEAD")

    async def _request(self, head: list[str], connection: "_Connection") -> tuple[Request, bool]:
        """The request, and whether the connection is kept after it."""
        method, path, version, fields = _parsed(head)
        words = {word.strip().lower() for word in fields.get("connection", "").split(",")}
        keep = "close" not in words if version == "1" else "keep-alive" in words
        coding, length = fields.get("transfer-encoding"), _length(fields)
        if coding is not None and (coding.lower() != "chunked" or length is not None or version == "0"):
            raise BadRequest("Transfer-Encoding must be chunked, in HTTP/1.1 and without a Content-Length.")
        if length is not None and length > self.largest:
            raise BadRequest(self._too_large)
        if fields.get("expect", "").lower() == "100-continue" and (coding or length):
            connection.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            async with self._large if coding or (length or 0) > LARGE else nullcontext():
                reader = connection.reader
                body = await self._chunks(reader) if coding else await reader.readexactly(length) if length else b""
        except TimeoutError:
            raise BadRequest(f"the body did not arrive within {self.seconds:g} seconds.") from None
        return Request(method, path, body), keep

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        parts, total = [], 0
        while size := _chunk_size(await _line(reader)):
            total += size
            if total > self.largest:
                raise BadRequest(self._too_large)
            parts.append(await reader.readexactly(size))
            if await _line(reader):
                raise BadRequest("a chunk of the body is longer than it says.")
        trailers = 0
        while line := await _line(reader):
            trailers += len(line)
            if trailers > HEAD_LIMIT:
                raise BadRequest(f"what follows the chunks is longer than {HEAD_LIMIT} bytes.")
        return b"".join(parts)

    @property
    def _too_large(self) -> str:
        return f"the body of a request must have at most {self.largest:,} bytes; more came. Start the server with a larger --limit."


@dataclass
class _Connection:
    """The two streams of a client, and how long it may be waited for."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seconds: float
    until: float = inf
    writing: bool = False
    asked: bool = False
    """Whether a request has begun to come, and was not answered yet."""

    def waits(self, seconds: float | None, writing: bool = False) -> None:
        """From now on, so long at most; None is for ever."""
        self.until, self.writing = inf if seconds is None else monotonic() + seconds, writing

    def check(self) -> None:
        """End a wait that takes too long."""
        if monotonic() < self.until:
            return
        self.until = inf
        if self.writing:
            self.writer.transport.abort()
        else:
            self.reader.set_exception(TimeoutError())

    async def head(self) -> list[str]:
        """The lines before the body; empty ones before them are left out, as some clients send one after a body."""
        self.waits(self.seconds)
        head = ""
        try:
            while not head:
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip("\r\n")
        except asyncio.LimitOverrunError:
            raise BadRequest(f"the head of a request must have at most {HEAD_LIMIT} bytes.") from None
        self.asked = True
        return head.split("\r\n")

    async def send(self, response: Response, keep: bool, head: bool = False) -> None:
        """Write an answer; of one to HEAD, all but the body."""
        self.waits(self.seconds, writing=True)
        lines = (
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"Date: {formatdate(usegmt=True)}",
            f"Content-Type: {response.content_type}",
            f"Content-Length: {len(response.body)}",
            f"Connection: {'keep-alive' if keep else 'close'}",
            "X-Content-Type-Options: nosniff",
            *response.headers,
        )
        self.writer.write("\r\n".join((*lines, "", "")).encode("latin-1") + (b"" if head else response.body))
        await self.writer.drain()
        self.asked = False

    async def hear_out(self) -> None:
        """Closing while a client still sends would take away the answer it has not read."""
        with suppress(OSError, TimeoutError):
            self.writer.write_eof()
            self.waits(LINGER)
            while await self.reader.read(2**18):
                pass


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n"))[:-2]
    except asyncio.LimitOverrunError:
        raise BadRequest("a line between chunks of the body is too long.") from None


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", digits):
        raise BadRequest("a chunk of the body must begin with its size.")
    return int(digits, 16)


def _parsed(head: list[str]) -> tuple[str, str, str, dict[str, str]]:
    """Method, path, the digit after HTTP/1. and the fields, by their names in small letters."""
    line = REQUEST_LINE.fullmatch(head[0])
    if not line:
        raise BadRequest("a request must begin with a line such as 'POST /Evaluate HTTP/1.1'.")
    fields: dict[str, str] = {}
    for text in head[1:]:
        found = FIELD.fullmatch(text)
        if not found:
            raise BadRequest("the head of a request must have lines such as 'Content-Length: 12'.")
        name = found[1].lower()
        fields[name] = f"{fields[name]}, {found[2]}" if name in fields else found[2]
    if line[3] == "1" and "host" not in fields:
        raise BadRequest("a request of HTTP/1.1 must have a Host.")
    try:
        path = urlsplit(line[2]).path
    except ValueError:
        raise BadRequest("the address of a request must be a path such as /Evaluate.") from None
    return line[1], path or "/", line[3], fields


def _length(fields: dict[str, str]) -> int | None:
    if "content-length" not in fields:
        return None
    said = {word.strip() for word in fields["content-length"].split(",")}
    digits = said.pop()
    if said or not re.fullmatch("[0-9]{1,18}", digits):
        raise BadRequest("Content-Length must be one number.")
    return int(digits)


def _busy(refuse: Callable[[str], Response]) -> Response:
    said = refuse(
        "the server has as many connections as it takes: come again, or keep connections and send one request after another."
    )
    return Response(503, said.body, headers=("Retry-After: 1",))
