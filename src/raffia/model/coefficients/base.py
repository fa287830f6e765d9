"""What multiplies a feature: how statistics are taken, solved and used again, for one kind of coefficients."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import Solution, Statistics


@dataclass(frozen=True, eq=False)
class Chosen:
    """The ridge of the least error on what was left out, that error, and the noise level where it comes with it."""

    ridge: Any
    error: float
    noise: Any = None
    solution: Solution | None = None
    """The coefficients with this ridge, where they come with it too."""


class Coefficients(ABC):
    """F(a) = Σ_k ψ_k (1/m) Σ_j α_j(k) ⟨φ(a; θ_j), ψ_k⟩: operators that are diagonal in some basis (ψ_k) of the outputs.

    A kind says which basis, and with it what the statistics of pairs are, how ridges are found, how equations are solved, how the
    trained operator is evaluated and how sure it is. A new kind is one file, and a line in `coefficients_of`.
    """

    noise_needs_pairs: ClassVar[bool] = True
    """Whether the noise level is read off the training pairs, and not off their statistics."""

    one_noise: ClassVar[bool] = False
    """Whether one noise level serves all of an output, and the statistics are a Gram matrix: then there is a marginal likelihood."""

    @abstractmethod
    def stream(self, settings: Settings, frame: Frame, pairs: Prepared) -> Any:
        """What statistics are made from: features of these inputs, and outputs, a batch at a time."""

    @abstractmethod
    def form(self, settings: Settings, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The form of the statistics, of so many pairs; None where nobody knows, and then one that adds in bounded memory."""

    @abstractmethod
    def chosen(self, settings: Settings, statistics: Statistics, pairs: Prepared, errors: bool = True) -> Chosen:
        """The ridge of the least error of leaving out one function at a time; the statistics are those of the pairs.

        Where nobody asks for the errors, nor the noise, they may be left out.
        """

    @abstractmethod
    def chosen_by_folds(self, settings: Settings, folds: Sequence[Statistics]) -> Chosen:
        """The ridge of the least k-fold error, from the statistics of the folds alone."""

    @abstractmethod
    def solve(self, settings: Settings, statistics: Statistics, ridge: Any) -> Solution:
        """The coefficients."""

    def transferred(self, ridge: Any, before: Statistics, after: Statistics) -> Any:
        """A ridge that was found for some features, for others of the same number: as large, relative to them."""
        return ridge * after.scale / before.scale

    @abstractmethod
    def combination(self, settings: Settings, frame: Frame, solution: Any, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """The trained operator on the grid and in the precision of the inputs, all in training units; what `Frame.outputs` takes."""

    @abstractmethod
    def complete(self, settings: Settings, frame: Frame, solution: Any) -> bool:
        """Whether a solution, read from a file, has what predictions need, in sizes that agree."""

    def training_error(self, settings: Settings, trained: Trained) -> float:
        """‖y − F(a)‖ / ‖y‖ over all training pairs, whose statistics `trained` has."""
        statistics: Any = trained.statistics
        return float((statistics.residual(trained.solution.coef) / statistics.energy).sqrt())

    def left_out(self, settings: Settings, trained: Trained) -> Tensor | None:
        """For each training pair, y − F(a) of the model trained without it, in training units; None where no formula gives it."""
        return None

    def barless(self, trained: Trained) -> str:
        """Why there are no error bars; nothing where there are."""
        return ""

    @abstractmethod
    def noise(self, settings: Settings, trained: Trained) -> Any:
        """The noise level, read off the training pairs or their statistics, which `trained` has."""

    @abstractmethod
    def law(self, settings: Settings, trained: Trained) -> Any:
        """The law of the coefficients given the data; `trained` has statistics and a noise level. Made once, for `variance` and `draws`."""

    @abstractmethod
    def variance(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor) -> Tensor:
        """The variance of y at every point, (n, *nodes), in training units."""

    @abstractmethod
    def draws(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor, count: int, seed: int) -> Tensor:
        """Draws of F(a), `count` times what `combination` gives."""
