"""UM-Bridge 1.0: models as functions of lists of numbers, over HTTP and JSON.

Each model has one input vector and one output vector, the values of functions on a grid, flattened; `{"grid": 256}` in `config` takes
another grid than that of the training. Errors have a type of the protocol; an error of raffia is of the type InvalidInput.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from raffia.errors import RaffiaError
from raffia.serve.gathering import Gatherer
from raffia.serve.served import Served

VERSION = 1.0
MOST_POINTS = 2**20  # of a grid that a client asks for: features of finer ones may be more than the memory holds
MORE = {"Evaluate": (), "Gradient": ("sens",), "ApplyJacobian": ("vec",), "ApplyHessian": ("sens", "vec")}
"""The calls that compute, and the vectors that they take beside the input, in the order of operators."""
PLACES = {"Gradient": ("outWrt", "inWrt"), "ApplyJacobian": ("outWrt", "inWrt"), "ApplyHessian": ("outWrt", "inWrt1", "inWrt2")}

Asked = dict[str, Any]
"""The JSON object of a request."""
Answer = Callable[[Asked], Awaitable[Any]]


class Refusal(RaffiaError):
    """A request that gets another error than InvalidInput."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind, self.status = kind, status


class Bridge:
    """Answers the calls of the protocol."""

    def __init__(self, models: Mapping[str, Served], gatherer: Gatherer) -> None:
        self.models, self.gatherer = models, gatherer
        self.calls: dict[str, Answer] = {
            "/ModelInfo": self._model_info,
            "/InputSizes": self._input_sizes,
            "/OutputSizes": self._output_sizes,
            **{f"/{call}": partial(self._computed, call) for call in MORE},
        }

    async def info(self, asked: Asked) -> Any:
        """The version, and the names of the models."""
        return {"protocolVersion": VERSION, "models": list(self.models)}

    async def _model_info(self, asked: Asked) -> Any:
        return {"support": self.model_of(asked).support}

    async def _input_sizes(self, asked: Asked) -> Any:
        return {"inputSizes": [self.model_of(asked).at(grid_of(asked.get("config"))).input_size]}

    async def _output_sizes(self, asked: Asked) -> Any:
        return {"outputSizes": [self.model_of(asked).at(grid_of(asked.get("config"))).output_size]}

    async def _computed(self, call: str, asked: Asked) -> Any:
        served, grid = self.model_of(asked), grid_of(asked.get("config"))
        if not served.support[call]:
            raise Refusal("UnsupportedFeature", f"model {served.name!r} does not support {call}.")
        operator = served.at(grid)
        given = wanted(asked, "input")
        if type(given) is not list or len(given) != 1 or type(given[0]) is not list:
            raise RaffiaError(f"input must be a list of one list of {operator.input_size} numbers; got {_shape(given)}.")
        vectors = [vector_of("input[0]", given[0], operator.input_size)]
        for name in PLACES.get(call, ()):
            place = wanted(asked, name)
            if type(place) is not int or place != 0:
                raise RaffiaError(f"{name} must be 0, as there is one input and one output vector; got {place!r:.80}.")
        sizes = {"sens": operator.output_size, "vec": operator.input_size}
        vectors += [vector_of(name, wanted(asked, name), sizes[name]) for name in MORE[call]]
        row = await self.gatherer.rows(served.function(call, grid), *vectors)
        if not np.isfinite(row).all():
            raise Refusal("InvalidOutput", f"model {served.name!r} gave values that are not finite for this input.", 500)
        if call != "Evaluate":
            return {"output": row}
        if served.novelty is None:
            return {"output": [row]}
        (novelty,) = await self.gatherer.rows(served.novelty(grid), *vectors)
        return {"output": [row], "novelty": float(novelty)}  # beyond the protocol: above 1, the input lies outside

    def model_of(self, asked: Asked) -> Served:
        """The model that a request names."""
        name = wanted(asked, "name")
        if type(name) is not str or name not in self.models:
            raise Refusal("ModelNotFound", f"there is no model {name!r:.80} here; there are {', '.join(self.models)}.")
        return self.models[name]


def grid_of(config: Any) -> tuple[int, ...] | None:
    """The shape of the grid that a config asks for; None for the training grid."""
    if config is None or config == {}:
        return None
    if type(config) is not dict or set(config) != {"grid"}:
        raise RaffiaError(f'config must be empty, or such as {{"grid": 128}} or {{"grid": [64, 64]}}; got {config!r:.80}.')
    shape = config["grid"] if type(config["grid"]) is list else [config["grid"]]
    if not shape or any(type(points) is not int or points < 1 for points in shape):
        raise RaffiaError(f"grid in config must be a number of points, or a list of them; got {shape!r:.80}.")
    if math.prod(shape) > MOST_POINTS:
        raise RaffiaError(f"grid in config must have at most {MOST_POINTS:,} points; got {shape!r:.80}.")
    return tuple(shape)


def wanted(asked: Asked, name: str) -> Any:
    """What a request must have."""
    if name not in asked:
        raise RaffiaError(f"{name!r} is missing in the body.")
    return asked[name]


def vector_of(name: str, given: Any, size: int) -> np.ndarray:
    """Return a JSON list of `size` numbers as a vector, or raise an error. JSON numbers are always finite."""
    if type(given) is not list or len(given) != size or not set(map(type, given)) <= {int, float}:
        raise RaffiaError(f"{name} must be a list of {size} numbers; got {_shape(given)}.")
    return np.array(given, dtype=np.float64)


def _shape(given: Any) -> str:
    """What came, in words."""
    if type(given) is not list:
        return f"{given!r:.80}"
    inside = sorted({type(value).__name__ for value in given})
    return f"a list of {len(given)} ({', '.join(inside)})" if inside else "an empty list"
