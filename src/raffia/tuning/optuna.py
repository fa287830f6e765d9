"""Search by Optuna: tree-structured Parzen estimators, with pruning and a study file."""

import hashlib
import json
import math
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from raffia.errors import RaffiaError
from raffia.progress import Progress
from raffia.tuning.base import History, Search, Trial, contestants, random_contest, score
from raffia.tuning.objective import Objective

if TYPE_CHECKING:
    import optuna

DRAWS = range(600_000, 600_002)
STUDY, WIDTH = "raffia", 0.2


@dataclass(repr=False, eq=False)
class OptunaSearch(Search):
    """`trials` settings chosen by Optuna; needs `pip install raffia[tune]`.

    Categories are settled first, by the best of `contest_draws` random settings for each combination. A trial climbs a ladder of
    model sizes, `ladder` as shares of the objective's features; it is given up where it does worse than the median of
    earlier trials on the same rung. After `run`, `study_` is the Optuna study, for Optuna's own plots; its values are logarithms of
    errors. `study` is a file that keeps every trial: a search that finds it there goes on where it ended, up to `trials` in all.
    """

    trials: int = 200
    contest_draws: int = 12
    ladder: tuple[float, ...] = (0.25, 0.5, 1.0)
    study: str | os.PathLike[str] | None = None
    verbose: bool = False

    def steps_for(self, objective: Objective) -> int:
        """Contest, then one a trial."""
        return self.contest_draws * contestants(objective) + self.trials

    def search(self, objective: Objective, history: History, progress: Progress) -> None:
        """Ask, evaluate, tell; the starting values are the first trial."""
        optuna = _optuna()
        score(objective, objective.start(), history)
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            self.study_ = self._open(optuna, objective)
            if "chosen" not in self.study_.user_attrs:
                self.study_.set_user_attr("chosen", random_contest(objective, self.contest_draws, WIDTH, progress))
                self.study_.enqueue_trial(_flat(objective.with_choices(self.study_.user_attrs["chosen"]).start()))
            finished = [trial for trial in self.study_.trials if trial.state.is_finished()]
            for trial in finished:
                _record(trial, self.study_.user_attrs["chosen"], history)
                progress.step(history.trials[-1].error)
            for _ in range(self.trials - len(finished)):
                self._try(optuna, objective, history, progress)
        finally:
            optuna.logging.set_verbosity(level)

    def _try(self, optuna: Any, objective: Objective, history: History, progress: Progress) -> None:
        trial = self.study_.ask()
        try:
            fixed = objective.with_choices(self.study_.user_attrs["chosen"])
            numbers = {name: _suggest(trial, name, r) for name, r in fixed.space.ranges.items()}
            state, error, m = optuna.trial.TrialState.COMPLETE, math.inf, fixed.n_features
            for rung, share in enumerate(sorted(self.ladder)):
                m = max(1, round(share * fixed.n_features))
                error = fixed.with_size(m).value(numbers, DRAWS)
                trial.report(_value(error), rung)
                if error == math.inf:
                    break
                if share < max(self.ladder) and trial.should_prune():
                    state = optuna.trial.TrialState.PRUNED
                    break
        except KeyboardInterrupt:
            self.study_.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        trial.set_user_attr("error", error if error < math.inf else None)
        trial.set_user_attr("n_features", m)
        self.study_.tell(trial, _value(error) if state == optuna.trial.TrialState.COMPLETE else None, state=state)
        _record(self.study_.trials[-1], self.study_.user_attrs["chosen"], history)
        progress.step(error)

    def _open(self, optuna: Any, objective: Objective) -> "optuna.Study":
        storage = None if self.study is None else _storage(optuna, self.study)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=objective.seed, multivariate=True, group=True)
            pruner = optuna.pruners.MedianPruner(n_startup_trials=10)
            study = optuna.create_study(storage=storage, sampler=sampler, pruner=pruner, study_name=STUDY, load_if_exists=True)
        belongs = _fingerprint(objective)
        if study.user_attrs.get("objective", belongs) != belongs:
            raise RaffiaError(
                f"study={os.fspath(self.study or '')!r} belongs to a search on other data or features. Name another file."
            )
        if not study.trials:
            study.set_user_attr("objective", belongs)
        return study


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise RaffiaError("OptunaSearch needs Optuna: pip install 'raffia[tune]'.") from None
    return optuna


def _storage(optuna: Any, path: str | os.PathLike[str]) -> Any:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RaffiaError(f"study={os.fspath(path)!r}: there is no folder {folder}. Make it first.")
    from optuna.storages.journal import JournalFileBackend

    if os.path.exists(path):
        try:  # before Optuna, which would append to whatever file it is given
            with open(path, encoding="utf-8") as lines:
                journal = all("op_code" in json.loads(line) for line in lines)
        except (ValueError, TypeError, OSError):
            journal = False
        if not journal:
            raise RaffiaError(f"study={os.fspath(path)!r} is not a study file, or damaged. Name another file.")
    return optuna.storages.JournalStorage(JournalFileBackend(os.fspath(path)))


def _value(error: float) -> float:
    """What Optuna minimises: the log of the error, and a wall where there is none."""
    return math.log(error) if 0 < error < math.inf else math.log(10.0)


def _suggest(trial: Any, name: str, r: Any) -> Any:
    if r.count is None:
        return trial.suggest_float(name, r.low, r.high, log=r.log)
    return torch.tensor(
        [trial.suggest_float(f"{name}[{i}]", r.low, r.high, log=r.log) for i in range(r.count)], dtype=torch.float64
    )


def _flat(values: dict[str, Any]) -> dict[str, float]:
    """A vector as one entry for each of its numbers, as Optuna knows it."""
    flat: dict[str, float] = {}
    for name, value in values.items():
        many = isinstance(value, torch.Tensor)
        flat |= {f"{name}[{i}]": float(entry) for i, entry in enumerate(value)} if many else {name: float(value)}
    return flat


def _record(trial: Any, chosen: dict[str, Any], history: History) -> None:
    """A finished Optuna trial as one of ours."""
    parameters = chosen | {name: value for name, value in trial.params.items() if "[" not in name}
    for name in {name.split("[")[0] for name in trial.params if "[" in name}:
        entries = [value for key, value in trial.params.items() if key.startswith(f"{name}[")]
        parameters[name] = torch.tensor(entries, dtype=torch.float64)
    error = math.inf if trial.user_attrs.get("error") is None else trial.user_attrs["error"]
    history.trials.append(Trial(parameters, error, trial.user_attrs.get("n_features", 0)))
    history.curve.append(error)


def _fingerprint(objective: Objective) -> str:
    facts = (objective.space.ranges, objective.choices, objective.n_features, objective.n_samples, objective.seed)
    digest = hashlib.sha256(repr(facts).encode())
    for values in (objective.a, objective.y):
        digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
