"""What a fit does within its budget, as a value that model files hold."""

import math
from dataclasses import dataclass, field

SEARCHED_FROM = 20.0  # seconds from which hyperparameters are searched by gradients; less is spent on closed forms alone


@dataclass(frozen=True, kw_only=True)
class WorkPlan:
    """What a fit does within its budget. The same plan and seed give the same model on any number of cores.

    Parameters
    ----------
    seconds : float
        The budget that the plan was made for.
    compared : int
        Pairs that features are chosen on, at most.
    trained : int
        Pairs that the model is trained on, at most.
    steps : dict
        Steps of the search of each kind of features, by name: those that were taken, where a search was cut short.
    """

    seconds: float
    compared: int
    trained: int = 2**31
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The plan in a line."""
        steps = ", ".join(f"{name} {count}" for name, count in self.steps.items() if count)
        trained = "" if self.trained >= 2**31 else f", trained on {self.trained} pairs at most"
        return f"{self.seconds:g} s: features chosen on {self.compared} pairs at most{trained}, steps of searches: {steps or 'none'}"

    @property
    def beyond(self) -> str:
        """What ten times the budget would add."""
        more = WorkPlan(seconds=10 * self.seconds, compared=self.compared)
        if not self.searched:
            what = "would also search hyperparameters by gradients" if more.searched else "would compare more kinds of features"
        elif more.longer(100) > self.longer(100):
            what = f"would search {more.longer(100) / self.longer(100):.1f} times as many steps"
        else:
            what = "would only compare and train on more pairs, where there are more"
        return f"a budget of {more.seconds:g} s {what}"

    @property
    def searched(self) -> bool:
        """Whether the budget is enough for searches by gradients."""
        return self.seconds >= SEARCHED_FROM

    def longer(self, steps: int) -> int:
        """So many steps of a minute, for this budget: they grow as its square root, three times at most."""
        return max(1, round(steps * min(3.0, math.sqrt(self.seconds / 60.0))))
