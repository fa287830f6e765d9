import builtins

import pytest
import torch

from raffia import Domain, FourierFeatures, RaffiaError
from raffia.tuning import OptunaSearch, objective_for

optuna = pytest.importorskip("optuna", reason="an extra")


def objective(burgers, seed=0):
    return objective_for(FourierFeatures(n_modes=24), burgers.a, burgers.y, Domain(1).grid(64), 40, 32, seed)


def test_a_study_file_is_continued_not_begun_again(burgers, tmp_path):
    path = tmp_path / "study.log"
    first = OptunaSearch(trials=5, contest_draws=1, study=path).run(objective(burgers))
    second = OptunaSearch(trials=8, contest_draws=1, study=path).run(objective(burgers))
    assert len(first.trials) == 1 + 5
    assert len(second.trials) == 1 + 8
    assert second.trials[:6] == first.trials
    again = OptunaSearch(trials=8, contest_draws=1, study=path).run(objective(burgers))
    assert again.trials == second.trials


def test_a_study_of_other_data_is_refused(burgers, tmp_path):
    path = tmp_path / "study.log"
    OptunaSearch(trials=1, contest_draws=1, study=path).run(objective(burgers))
    with pytest.raises(RaffiaError, match="belongs to a search on other data or features"):
        OptunaSearch(trials=1, contest_draws=1, study=path).run(objective(burgers, seed=1))


def test_a_file_that_is_no_study_is_refused_and_kept(burgers, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a study\n")
    with pytest.raises(RaffiaError, match=r"is not a study file, or damaged"):
        OptunaSearch(trials=1, contest_draws=1, study=path).run(objective(burgers))
    assert path.read_text() == "not a study\n"
    with pytest.raises(RaffiaError, match="there is no folder"):
        OptunaSearch(trials=1, contest_draws=1, study=tmp_path / "missing" / "study").run(objective(burgers))


def test_a_search_keeps_inside_the_ranges_and_leaves_a_study_for_plots(burgers):
    search = OptunaSearch(trials=12, contest_draws=1)
    problem = objective(burgers)
    history = search.run(problem)
    for trial in history.trials[1:]:
        fixed = problem.with_choices({name: trial.parameters[name] for name in problem.choices})
        for name, r in fixed.space.ranges.items():
            assert r.low <= trial.parameters[name] <= r.high
    assert isinstance(search.study_, optuna.Study)
    assert len(search.study_.trials) == 12


def test_pruned_trials_are_recorded_with_the_size_they_reached(burgers):
    history = OptunaSearch(trials=30, contest_draws=1).run(objective(burgers))
    sizes = {trial.n_features for trial in history.trials}
    assert sizes <= {10, 20, 40}
    assert len(sizes) > 1
    assert history.best.n_features == 40


def test_a_missing_optuna_is_named_with_the_remedy(burgers, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "optuna":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RaffiaError, match=r"pip install 'raffia\[tune\]'"):
        OptunaSearch().run(objective(burgers))


def test_vectors_are_searched_one_number_at_a_time(burgers):
    features = FourierFeatures(n_modes=4, profile=torch.ones(2, dtype=torch.float64), amplitude=1.0)
    problem = objective_for(features, burgers.a, burgers.y, Domain(1).grid(64), 30, 32)
    history = OptunaSearch(trials=3, contest_draws=1).run(problem)
    assert history.best.parameters["feature_map__profile"].shape == (2,)
