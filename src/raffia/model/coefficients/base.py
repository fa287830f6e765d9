"""The interface of the kinds of coefficients: how statistics are assembled and solved, and how the result predicts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import Ridge, Solution, Statistics


@dataclass(frozen=True, eq=False)
class RidgeChoice:
    """The ridge of the least left-out error, that error, and the noise level where it is a by-product."""

    ridge: Ridge
    error: float
    noise: Any = None
    solution: Solution | None = None
    """The coefficients with this ridge, where they are a by-product too."""


@dataclass(frozen=True, eq=False)
class Coefficients(ABC):
    """F(a) = Σ_k ψ_k (1/m) Σ_j α_j(k) ⟨φ(a; θ_j), ψ_k⟩: operators that are diagonal in some basis (ψ_k) of the outputs.

    A kind of coefficients fixes the basis. It also fixes the statistics of the pairs, the choice of the ridge, the solution of the
    equations, the evaluation of the trained operator, and its error bars. A new kind is one file and a line in `coefficients_of`.
    """

    settings: Settings
    """The settings of the model."""

    noise_needs_pairs: ClassVar[bool] = True
    """Whether estimating the noise level needs the training pairs; otherwise their statistics are enough."""

    @abstractmethod
    def stream(self, pairs: Prepared) -> Any:
        """The features of these inputs and the outputs, a batch at a time: what statistics are assembled from."""

    @abstractmethod
    def form(self, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The form of the statistics of `expected` pairs. None is an unknown number, which needs a form that adds in bounded memory."""

    @abstractmethod
    def choose_ridge(self, statistics: Statistics, pairs: Prepared, errors: bool = True) -> RidgeChoice:
        """The ridge of the least leave-one-function-out error, from pairs and their statistics.

        With errors=False, the error and the noise level need not be computed.
        """

    @abstractmethod
    def choose_ridge_by_folds(self, folds: Sequence[Statistics]) -> RidgeChoice:
        """The ridge of the least k-fold error, from the statistics of the folds alone."""

    @abstractmethod
    def solve(self, statistics: Statistics, ridge: Ridge) -> Solution:
        """The coefficients."""

    def transferred(self, ridge: Ridge, before: Statistics, after: Statistics) -> Ridge:
        """The ridge for other features of the same number, given the ridge for some: equal relative to the trace of the Gram matrix."""
        return ridge * after.scale / before.scale

    @abstractmethod
    def combination(self, frame: Frame, solution: Solution, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """The trained operator in training units, on the grid and in the precision of the inputs; `Frame.outputs` takes its values."""

    @abstractmethod
    def complete(self, frame: Frame, solution: Solution) -> bool:
        """Whether a solution read from a file has all parts, in sizes that agree."""

    def training_error(self, trained: Trained) -> float:
        """‖y − F(a)‖ / ‖y‖ over all training pairs."""
        statistics = trained.known_statistics()
        return float((statistics.residual(trained.solution.coef) / statistics.energy).sqrt())

    def left_out(self, trained: Trained) -> Tensor | None:
        """For each training pair, y − F(a) of the model trained without it, in training units. None if there is no closed formula."""
        return None

    def why_no_error_bars(self, trained: Trained) -> str:
        """The reason why there are no error bars; empty if there are."""
        return ""

    @abstractmethod
    def noise(self, trained: Trained) -> Any:
        """The noise level, estimated from the training pairs or their statistics."""

    @abstractmethod
    def variance(self, trained: Trained) -> Callable[[Tensor], Tensor]:
        """The variance of y at every point, (n, *nodes), as a function of inputs, in training units.

        It is that of the posterior distribution of the coefficients; `trained` has statistics and a noise level.
        """
