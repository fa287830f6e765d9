"""The state of a fitted model beside its parameters."""

from dataclasses import dataclass, replace
from typing import Any

from raffia.model.accumulator import Accumulator
from raffia.model.operator import Operator
from raffia.model.posterior import Posterior
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.tuning import History


@dataclass
class FittedState:
    """The state of a fitted model beside its parameters; training replaces it as a whole."""

    trained: Trained | None = None
    sums: Accumulator | None = None
    """Statistics that partial_fit has added and that are not solved yet."""
    history: History | None = None
    operator: Operator | None = None
    posterior: Posterior | None = None

    def operator_of(self, trained: Trained, settings: Settings) -> Operator:
        """The trained operator; a new one if the device or the limits of memory changed."""
        settings.check_same(trained.settings)
        if self.operator is None or self.operator.settings.resources != settings.resources:
            self.operator = Operator(trained, settings)
        return self.operator

    def posterior_of(self, operator: Operator) -> Posterior:
        """The error bars of an operator; its noise level is stored in the trained model."""
        if self.posterior is None or self.posterior.operator is not operator:
            self.posterior = Posterior(operator)
            self.trained = replace(operator.trained, noise=self.posterior.known().noise)
        return self.posterior

    def __getstate__(self) -> dict[str, Any]:
        """The content of a file with statistics, without data and caches."""
        light = self.trained and self.trained.light(statistics=True)
        return {"trained": light, "sums": self.sums, "history": self.history, "operator": None, "posterior": None}

    def __deepcopy__(self, memo: object) -> "FittedState":
        return replace(self)
