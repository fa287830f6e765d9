"""Which features suit these data? A short contest of those that apply, each tuned, judged on pairs that none of them saw."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from raffia.checks import check_device
from raffia.errors import RaffiaError
from raffia.features import FeatureMap, FourierFeatures, PredictorCorrectorFeatures, ScalarFeatures
from raffia.measures.noise import uniform_noise
from raffia.model import RandomFeatureModel
from raffia.progress import Progress
from raffia.spaces import Domain, Mesh, Space, Vectors
from raffia.tuning import GradientSearch, History

SHORT = GradientSearch(steps=60, contest_steps=6, screened=4, swept=3)
SHORTER = GradientSearch(steps=20, contest_steps=1, screened=0, swept=2)  # in several dimensions, where a step takes seconds
HOPELESS = 5.0  # times the best error so far: untuned features that are as far behind are not tuned
VALIDATED, LEAST = 0.2, 10
MOST_NODES = 2048  # of a mesh on which Fourier series are summed one by one
ENOUGH = {torch.float32: 1e-6, torch.float64: 1e-10}  # an error below which there is nothing left to win


@dataclass(frozen=True)
class Candidate:
    """A feature map, whether it wants normalised data, and whether a search has something to find."""

    name: str
    feature_map: FeatureMap
    normalize: bool = True
    tuned: bool = True

    @property
    def settings(self) -> dict[str, Any]:
        """What a model of these features must be told: where they are numbers, they have no grid to be coarsened."""
        return {"normalize": self.normalize} | ({"points": None} if isinstance(self.feature_map, ScalarFeatures) else {})


@dataclass(frozen=True)
class Entry:
    """How a candidate did: its error on the pairs held out, the seconds it took, and what was found."""

    candidate: Candidate
    error: float
    seconds: float
    found: str
    history: History | None = None


@dataclass(frozen=True)
class Contest:
    """All entries in the order tried, and the best."""

    entries: list[Entry]
    n_train: int
    n_validation: int

    @property
    def best(self) -> Entry:
        """The one of the least error on the pairs held out."""
        return min(self.entries, key=lambda entry: entry.error)

    @property
    def rows(self) -> list[list[str]]:
        """A row for each entry: features, error, seconds, what was found."""
        return [[e.candidate.name, f"{e.error:.2e}", f"{e.seconds:.1f} s", e.found] for e in self.entries]


def candidates(a: Tensor, y: Tensor, domain: Space, output: Space) -> Iterator[Candidate]:
    """The feature maps that apply to such pairs, the cheapest first."""
    one, there = domain.one_channel, output.one_channel
    n_modes = a.shape[1] if isinstance(domain, Vectors) else 64 * _dim(one) ** 2
    yield Candidate("linear", ScalarFeatures(n_modes=n_modes, law="affine", domain=domain), tuned=False)
    yield Candidate("scalar", ScalarFeatures(n_modes=n_modes, domain=domain))
    if isinstance(one, Vectors) or one != there or a.shape[a.ndim - one.ndim :] != y.shape[y.ndim - one.ndim :]:
        return
    if not isinstance(one, Mesh) or len(one.nodes) <= MOST_NODES:
        yield Candidate(
            "fourier",
            FourierFeatures(
                128 if _dim(one) == 1 else 256,
                10.0,
                2.0,
                amplitude=2.0,
                bias=0.5,
                activation="gelu",
                profile="matern",
                domain=domain,
            ),
        )
    if isinstance(domain, Domain) and (domain.dim, domain.periodic) == (2, False) and output == domain and _like_darcy(a, y):
        low, high = float(a.min()), float(a.max())
        yield Candidate(
            "predictor-corrector",
            PredictorCorrectorFeatures(
                s_plus=1 / high, s_minus=-1 / low, eta=1e-5, steps=3, randomisation="multiplicative", domain=domain
            ),
            normalize=False,
            tuned=False,
        )


def contest(
    a: Tensor,
    y: Tensor,
    domain: Space,
    output: Space,
    n_features: int = 1024,
    seed: int = 0,
    search: GradientSearch | None = None,
    verbose: bool = False,
    said: Callable[[str], None] | None = None,
    **settings: Any,
) -> Contest:
    """Tune every candidate on four fifths of the pairs and judge it on the others; `settings` go to the models.

    A candidate whose features are undefined on these data counts as infinitely wrong, and one that is far behind before it is tuned is
    not tuned. The contest ends when an error is as small as the precision of the data allows. `said` is told of every entry.
    """
    check_device(settings.get("device"))
    if domain.ndim == 0:
        raise RaffiaError(
            "inputs that are single numbers have no contest: pass them as vectors, a[:, None] with domain=Vectors()."
        )
    if len(a) < LEAST:
        raise RaffiaError(
            f"a contest holds out a fifth of the pairs, so it needs {LEAST} or more; got {len(a)}. Name the features: features=…, --map."
        )
    order = uniform_noise(range(1), (len(a),), seed, "contest split")[0].argsort()
    held = max(2, round(VALIDATED * len(a)))
    judged, trained = order[:held], order[held:]
    entries: list[Entry] = []
    known = list(candidates(a, y, domain, output))
    with Progress("contest", len(known), verbose) as progress:
        for candidate in known:
            begun = time.perf_counter()
            own = {"random_state": seed, "output": output, **settings, **candidate.settings}
            model = RandomFeatureModel(candidate.feature_map, n_features, "auto", **own)
            try:
                model.fit(a[trained], y[trained])
                error = float(model.errors(a[judged], y[judged]).mean())
                best = min((entry.error for entry in entries), default=float("inf"))
                if candidate.tuned and len(trained) >= 8 and error <= HOPELESS * best:
                    model.tune(a[trained], y[trained], search or (SHORT if _dim(domain) < 2 else SHORTER))
                    error = float(model.errors(a[judged], y[judged]).mean())
            except RaffiaError as failure:
                entries.append(Entry(candidate, float("inf"), time.perf_counter() - begun, f"failed: {failure}"))
                continue
            history = getattr(model, "history_", None)
            fitted = Candidate(candidate.name, model.feature_map, candidate.normalize, candidate.tuned)
            found = (
                history.found if history is not None else "too far behind to be tuned" if candidate.tuned else "nothing to tune"
            )
            entries.append(Entry(fitted, error, time.perf_counter() - begun, found, history))
            if said is not None:
                said(f"{candidate.name}: error {error:.2e} on {held} pairs, {entries[-1].seconds:.1f} s")
            progress.step(min(entry.error for entry in entries))
            if error < ENOUGH.get(a.dtype, 0.0):
                break
    if not any(entry.error < float("inf") for entry in entries):
        raise RaffiaError(f"no features suit these data: {entries[0].found}")
    return Contest(entries, len(trained), held)


def _dim(space: Space) -> int:
    """Of the domain of the functions; 0 for vectors."""
    return space.region.dim if isinstance(space.region, Domain) else 0


def _like_darcy(a: Tensor, y: Tensor) -> bool:
    """A positive coefficient, and outputs that vanish on the boundary."""
    edge = torch.cat([y[:, 0], y[:, -1], y[:, :, 0], y[:, :, -1]], dim=1)
    return bool(a.min() > 0) and bool(edge.abs().max() <= 1e-6 * y.abs().max())
