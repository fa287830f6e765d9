"""The ridge alone: hyperparameters stay as they are, and what is left to choose comes free with the ridge path."""

import time
from dataclasses import dataclass

from raffia.tuning.base import History, Search, Trial
from raffia.tuning.objective import Objective


@dataclass(repr=False, eq=False)
class RidgeSearch(Search):
    """Scores the present setting and changes nothing; `RandomFeatureModel.tune` then finds the ridge, as after every search."""

    def run(self, objective: Objective) -> History:
        """One trial."""
        begun = time.perf_counter()
        start = objective.start()
        kept = {name: value for name, value in start.items() if name == "ridge"}
        given = {name: objective.feature_map.get_params(deep=False)[name] for name in objective.ranges if name != "ridge"}
        error = objective.value({**given, **kept}, range(4))
        return History([Trial(kept, error)], seconds=time.perf_counter() - begun)
