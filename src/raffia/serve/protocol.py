"""UM-Bridge 1.0: models as functions of lists of numbers, over HTTP and JSON.

Each model has one input vector and one output vector, the values of functions on a grid, flattened; `{"grid": 256}` in `config` takes
another grid than that of the training. Errors have a type of the protocol, from which their status follows.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np

from raffia.errors import RaffiaError
from raffia.serve.gathering import Gatherer
from raffia.serve.http import Response, read, reply
from raffia.serve.served import Served

VERSION = 1.0
MOST_POINTS = 2**20  # of a grid that a client asks for: features of finer ones may be more than the memory holds
STATUS = {"ModelNotFound": 400, "UnsupportedFeature": 400, "InvalidInput": 400, "InvalidOutput": 500}
MORE = {"Evaluate": (), "Gradient": ("sens",), "ApplyJacobian": ("vec",), "ApplyHessian": ("sens", "vec")}
"""The calls that compute, and the vectors that they take beside the input, in the order of operators."""
PLACES = {"Gradient": ("outWrt", "inWrt"), "ApplyJacobian": ("outWrt", "inWrt"), "ApplyHessian": ("outWrt", "inWrt1", "inWrt2")}


class Refusal(Exception):
    """A request that gets an error of the protocol."""

    def __init__(self, kind: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.response = reply({"error": {"type": kind, "message": message}}, status or STATUS[kind])


class Bridge:
    """Answers the calls of the protocol."""

    def __init__(self, models: Mapping[str, Served], gatherer: Gatherer) -> None:
        self.models = models
        self.gatherer = gatherer
        self.routes = {
            ("GET", "/Info"): self._info,
            ("POST", "/ModelInfo"): self._model_info,
            ("POST", "/InputSizes"): self._input_sizes,
            ("POST", "/OutputSizes"): self._output_sizes,
            **{("POST", f"/{call}"): self._computing(call) for call in MORE},
        }

    async def __call__(self, method: str, path: str, body: bytes) -> Response:
        """The answer to a request; errors are answers too."""
        try:
            return await self._route(method, path)(body)
        except Refusal as refusal:
            return refusal.response
        except RaffiaError as error:
            return Refusal("InvalidInput", str(error)).response
        except Exception as error:  # of one request: the server goes on with others
            words = " ".join(str(error).split())[:500]
            return Refusal("InvalidOutput", f"the model failed ({type(error).__name__}: {words}).").response

    def _route(self, method: str, path: str) -> Callable[[bytes], Awaitable[Response]]:
        if (method, path) == ("HEAD", "/"):
            return self._info  # is the server there?
        route = self.routes.get(("GET" if method == "HEAD" else method, path))
        if route is not None:
            return route
        others = sorted({verb for verb, known in self.routes if known == path})
        if others:
            raise Refusal("InvalidInput", f"{path} takes {' or '.join(others)}, not {method}.", 405)
        paths = ", ".join(known for _, known in self.routes if not known.startswith("/page/"))
        raise Refusal("UnsupportedFeature", f"there is no {path[:80]!r} here; there are {paths}.", 404)

    async def _info(self, body: bytes) -> Response:
        return reply({"protocolVersion": VERSION, "models": list(self.models)})

    async def _model_info(self, body: bytes) -> Response:
        return reply({"support": self.model_of(parsed(body)).support})

    async def _input_sizes(self, body: bytes) -> Response:
        return reply({"inputSizes": [self._operator(parsed(body)).input_size]})

    async def _output_sizes(self, body: bytes) -> Response:
        return reply({"outputSizes": [self._operator(parsed(body)).output_size]})

    def _computing(self, call: str) -> Callable[[bytes], Awaitable[Response]]:
        async def answer(body: bytes) -> Response:
            asked = parsed(body)
            served = self.model_of(asked)
            if not served.support[call]:
                raise Refusal("UnsupportedFeature", f"model {served.name!r} does not support {call}.")
            operator = self._operator(asked)
            vectors = [_only(asked, operator.input_size)]
            for name in PLACES.get(call, ()):
                _check_place(asked, name)
            sizes = {"sens": operator.output_size, "vec": operator.input_size}
            vectors += [vector_of(name, wanted(asked, name), sizes[name]) for name in MORE[call]]
            row = await self.gatherer.rows(served.function(call, grid_of(asked.get("config"))), *vectors)
            if not np.isfinite(row).all():
                raise Refusal("InvalidOutput", f"model {served.name!r} gave values that are not finite for this input.")
            if call != "Evaluate":
                return reply({"output": row})
            if served.novelty is None:
                return reply({"output": [row]})
            novelty = await self.gatherer.rows(served.novelty(grid_of(asked.get("config"))), *vectors)
            return reply(
                {"output": [row], "novelty": float(novelty[0])}
            )  # beyond the protocol: above 1, the input lies outside

        return answer

    def model_of(self, asked: dict[str, Any]) -> Served:
        """The model that a request names."""
        name = wanted(asked, "name")
        if type(name) is not str or name not in self.models:
            raise Refusal("ModelNotFound", f"there is no model {name!r:.80} here; there are {', '.join(self.models)}.")
        return self.models[name]

    def _operator(self, asked: dict[str, Any]) -> Any:
        return self.model_of(asked).at(grid_of(asked.get("config")))


def grid_of(config: Any) -> tuple[int, ...] | None:
    """The shape of the grid that a config asks for; None for the training grid."""
    if config is None or config == {}:
        return None
    if type(config) is not dict or set(config) != {"grid"}:
        raise Refusal(
            "InvalidInput", f'config must be empty, or such as {{"grid": 128}} or {{"grid": [64, 64]}}; got {config!r:.80}.'
        )
    shape = config["grid"] if type(config["grid"]) is list else [config["grid"]]
    if not shape or any(type(points) is not int or points < 1 for points in shape):
        raise Refusal("InvalidInput", f"grid in config must be a number of points, or a list of them; got {shape!r:.80}.")
    if math.prod(shape) > MOST_POINTS:
        raise Refusal("InvalidInput", f"grid in config must have at most {MOST_POINTS:,} points; got {shape!r:.80}.")
    return tuple(shape)


def refused(message: str) -> Response:
    """The answer to what could not be read."""
    return Refusal("InvalidInput", message).response


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a body, whatever content type it says it has."""
    try:
        asked = read(body)
    except ValueError as error:
        raise Refusal("InvalidInput", f"the body must be JSON ({error}).") from None
    if type(asked) is not dict:
        raise Refusal("InvalidInput", f"the body must be a JSON object; got {asked!r:.80}.")
    return asked


def wanted(asked: dict[str, Any], name: str) -> Any:
    """What a request must have."""
    if name not in asked:
        raise Refusal("InvalidInput", f"{name!r} is missing in the body.")
    return asked[name]


def _only(asked: dict[str, Any], size: int) -> np.ndarray:
    given = wanted(asked, "input")
    if type(given) is not list or len(given) != 1 or type(given[0]) is not list:
        raise Refusal("InvalidInput", f"input must be a list of one list of {size} numbers; got {_shape(given)}.")
    return vector_of("input[0]", given[0], size)


def vector_of(name: str, given: Any, size: int) -> np.ndarray:
    """A list of as many numbers as are wanted; JSON has no others than finite ones."""
    if type(given) is not list or len(given) != size or not set(map(type, given)) <= {int, float}:
        raise Refusal("InvalidInput", f"{name} must be a list of {size} numbers; got {_shape(given)}.")
    return np.array(given, dtype=np.float64)


def _shape(given: Any) -> str:
    """What came, in words."""
    if type(given) is not list:
        return f"{given!r:.80}"
    inside = sorted({type(value).__name__ for value in given})
    return f"a list of {len(given)} ({', '.join(inside)})" if inside else "an empty list"


def _check_place(asked: dict[str, Any], name: str) -> None:
    place = wanted(asked, name)
    if type(place) is not int or place != 0:
        what = "output" if name == "outWrt" else "input"
        raise Refusal("InvalidInput", f"{name} must be 0, as there is one {what} vector; got {place!r:.80}.")
