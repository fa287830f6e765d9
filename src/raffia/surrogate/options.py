"""What all models of a fit have in common."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from raffia.model.settings import Settings
from raffia.surrogate.candidates import Candidate


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What all models of a fit have in common."""

    n_features: int = 1024
    ridge: float | Literal["auto"] = "auto"
    random_state: int = 0
    normalize: bool | Literal["function"] | None = None
    """None leaves it to the features."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `RandomFeatureModel`."""

    def arguments(self, candidate: Candidate, output: object, most_modal: int = sys.maxsize) -> dict[str, Any]:
        """Return the arguments of a model with these features."""
        own = {} if self.normalize is None else {"normalize": self.normalize}
        common = {
            "n_features": self.n_features,
            "ridge": self.ridge,
            "random_state": self.random_state,
            "output": output,
            **own,
        }
        return {"feature_map": candidate.feature_map, **candidate.arguments(common | dict(self.settings), most_modal)}

    def settings_of(self, candidate: Candidate, output: object, most_modal: int = sys.maxsize) -> Settings:
        """Return the same as `Settings`, without checks."""
        return Settings.of(Settings(candidate.feature_map).arguments | self.arguments(candidate, output, most_modal))
