"""Draws, statistics and coefficients that several experiments share."""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import torch
from torch import Tensor

from raffia import papers
from raffia.regression import NormalEquations
from raffia.reproduce.draws import Draw, authors_burgers, darcy, fresh_burgers
from raffia.reproduce.study import Study

Scale = Literal["quick", "paper"]
AUTHORS = -1  # stands for the authors' draws in place of a seed
SEEDS = (0, 1, 2)


def reported() -> dict[str, Any]:
    """The authors' stored values."""
    return json.loads(files("raffia.reproduce").joinpath("authors.json").read_text())


@dataclass(eq=False)
class Lab:
    """The scale, the device and the seeds of experiments; results of its methods are cached."""

    scale: Scale = "quick"
    device: str = "cpu"
    seeds: tuple[int, ...] = SEEDS

    def __post_init__(self) -> None:
        for method in (self.draws, self.trained, self.coef):
            setattr(self, method.__name__, cache(torch.no_grad()(method)))

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

    def draws(self, problem: str, source: int) -> tuple[Study, Draw]:
        """The authors' draws, of Burgers' equation, or those of a seed."""
        if problem == "darcy":
            draw = darcy(self.darcy_samples, self.n_test["darcy"], source, self.device)
            return Study(papers.DARCY.feature_map, draw.theta, papers.DARCY.ridge, collapses=True), draw
        sizes = max(papers.BURGERS_M_AND_N.n), self.n_test["burgers"]
        made = authors_burgers(*sizes, self.device) if source == AUTHORS else fresh_burgers(*sizes, source, self.device)
        features, draw = made
        return Study(features, draw.theta, papers.BURGERS.ridge), draw

    def trained(self, problem: str, source: int, *, points: int, n: int, m: int, time: int | None) -> NormalEquations:
        """Normal equations of n pairs on so many points, and of the first m features."""
        study, draw = self.draws(problem, source)
        here, some = draw.on(points, time), Study(study.feature_map, study.theta[:m], study.ridge)
        return some.equations(here.a[:n], here.y[:n], (n,))[n]

    def coef(self, problem: str, source: int, *, points: int, n: int, m: int, time: int | None = None) -> Tensor:
        """α of one model, by the normal equations of as many features or more."""
        study, _ = self.draws(problem, source)
        enough = len(study.theta) if problem == "burgers" else min(len(study.theta), 256 * math.ceil(m / 256))
        return study.coef(self.trained(problem, source, points=points, n=n, m=enough, time=time), m)
