"""Draws, statistics and coefficients that several experiments share, made once."""

import json
import math
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

import torch
from torch import Tensor

from raffia import papers
from raffia.regression import NormalEquations
from raffia.reproduce.draws import Draw, authors_burgers, darcy, fresh_burgers
from raffia.reproduce.study import Study

Scale = Literal["quick", "paper"]
AUTHORS = -1  # the source of draws that is not a seed of ours
SEEDS = (0, 1, 2)


def reported() -> dict[str, Any]:
    """The authors' stored values."""
    return json.loads(files("raffia.reproduce").joinpath("authors.json").read_text())


@dataclass
class Lab:
    """What to compute with, and what has been computed."""

    scale: Scale = "quick"
    device: str = "cpu"
    seeds: tuple[int, ...] = SEEDS
    _kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def quick(self) -> bool:
        """Fewer tests, and fewer samples of Darcy flow."""
        return self.scale == "quick"

    @property
    def n_test(self) -> dict[str, int]:
        """Test inputs of each problem."""
        return {"burgers": 500, "darcy": 64} if self.quick else {"burgers": 4000, "darcy": 1000}

    @property
    def darcy_samples(self) -> int:
        """Training pairs of Darcy flow, at most."""
        return 128 if self.quick else max(papers.DARCY_M_AND_N.n)

    def burgers(self, source: int) -> tuple[Study, Draw]:
        """The authors' draws, or those of a seed."""
        return self._once(("burgers", source), lambda: self._burgers(source))

    def darcy(self, seed: int) -> tuple[Study, Draw]:
        """Draws of a seed."""
        return self._once(("darcy", seed), lambda: self._darcy(seed))

    def trained(self, problem: str, source: int, points: int, n: int, m: int, time: int | None = None) -> NormalEquations:
        """Normal equations of n pairs on so many points, and of m features or more."""
        study, draw = getattr(self, problem)(source)
        enough = len(study.theta) if problem == "burgers" else min(len(study.theta), 256 * math.ceil(m / 256))

        def made() -> NormalEquations:
            here, some = draw.on(points, time), Study(study.feature_map, study.theta[:enough], study.ridge)
            return some.equations(here.a[:n], here.y[:n], (n,))[n]

        return self._once((problem, source, points, n, time, "equations", enough), made)

    def coef(self, problem: str, source: int, points: int, n: int, m: int, time: int | None = None) -> Tensor:
        """α of one model."""
        study, _ = getattr(self, problem)(source)
        equations = self.trained(problem, source, points, n, m, time)
        return self._once((problem, source, points, n, time, m), lambda: study.coef(equations, m))

    def _burgers(self, source: int) -> tuple[Study, Draw]:
        sizes = max(papers.BURGERS_M_AND_N.n), self.n_test["burgers"]
        if source == AUTHORS:
            features, draw = authors_burgers(*sizes, self.device)
        else:
            features, draw = fresh_burgers(*sizes, source, self.device)
        return Study(features, draw.theta, papers.BURGERS.ridge), draw

    def _darcy(self, seed: int) -> tuple[Study, Draw]:
        draw = darcy(self.darcy_samples, self.n_test["darcy"], seed, self.device)
        return Study(papers.DARCY.feature_map, draw.theta, papers.DARCY.ridge, collapses=True), draw

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self._kept:
            with torch.no_grad():
                self._kept[key] = make()
        return self._kept[key]
