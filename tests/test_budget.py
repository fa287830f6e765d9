"""Budgets, plans of work, and workers: what is done within some seconds, and that it does not depend on who does it."""

import math
import threading
import time

import pytest
import torch

import raffia
from raffia import Burgers, RaffiaError
from raffia.model.trained import WorkPlan
from raffia.surrogate.budget import Clock, planned, seconds_for
from raffia.tuning import GradientSearch
from raffia.tuning.workers import side_by_side, working


@pytest.fixture(scope="module")
def pairs():
    return Burgers(viscosity=0.1, fine_points=32).dataset(120, 16, seed=0)


def test_results_come_in_order_also_of_tasks_that_have_tasks():
    def nested(i):
        return sum(side_by_side(lambda j: i * j, range(5)))

    for count in (1, 2, 5):
        with working(count):
            assert side_by_side(nested, range(20)) == [10 * i for i in range(20)]
    assert side_by_side(nested, range(20)) == [10 * i for i in range(20)]


def test_two_workers_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)
    with working(2):
        assert sorted(side_by_side(lambda _: meeting.wait(), range(2))) == [0, 1]


def test_the_first_failure_is_raised_and_threads_are_as_before():
    def failing(i):
        if i > 3:
            raise RaffiaError(f"task {i}")
        return torch.get_num_threads()

    before = torch.get_num_threads()
    with working(2):
        assert side_by_side(failing, range(4)) == [1] * 4
        with pytest.raises(RaffiaError, match="task 4"):
            side_by_side(failing, range(8))
    assert torch.get_num_threads() == before


def test_the_same_seed_and_plan_give_the_same_model_on_one_core_and_on_two(pairs):
    plan = WorkPlan(seconds=60.0, compared=100, steps={"linear": 0, "modal": 3})
    models, before = [], torch.get_num_threads()
    search = GradientSearch(5, 1, 0, screened=0, swept=0)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        models.append(raffia.fit(pairs, n_features=16, plan=plan, tune=search).model)
    torch.set_num_threads(before)
    assert torch.equal(models[0].predict(pairs.a), models[1].predict(pairs.a))
    assert models[0].trained_.plan.steps == plan.steps


def test_the_plan_of_a_model_file_is_carried_out_again(pairs, tmp_path):
    plan = WorkPlan(seconds=10.0, compared=100, steps={"linear": 0})
    first = raffia.fit(pairs, n_features=32, plan=plan)
    first.model.save(tmp_path / "m.safetensors")
    again = raffia.fit(pairs, n_features=32, plan=raffia.load(tmp_path / "m.safetensors").trained_.plan)
    assert again.plan == first.plan
    assert torch.equal(first.model.predict(pairs.a), again.model.predict(pairs.a))


def test_features_are_chosen_on_as_many_pairs_as_the_plan_has(pairs):
    notes = []
    plan = WorkPlan(seconds=10.0, compared=60, trained=50, steps={"linear": 0})
    surrogate = raffia.fit(pairs, plan=plan, held_out=0.25, on_message=notes.append)
    assert surrogate.contest.n_validation + surrogate.contest.n_train <= 2 * 60
    assert surrogate.n_train == 50
    assert surrogate.model.equations_.n_samples == 50
    assert any("60 of 90" in note for note in notes)
    assert any("50 of 90" in note for note in notes)


def test_a_fit_that_is_interrupted_ends_with_the_best_so_far(pairs):
    clock = Clock(WorkPlan(seconds=60.0, compared=100), time.perf_counter())
    assert not clock.over(0.5)
    clock.interrupted.set()
    assert clock.over(0.5)
    assert not clock.affords(0.0)


@pytest.mark.parametrize("values", [1, 256, 2**17])
def test_longer_budgets_look_at_no_fewer_pairs(values):
    counts = [planned(seconds, values).compared for seconds in (5.0, 60.0, 600.0)]
    assert counts == sorted(counts)
    assert counts[0] >= 64


def test_a_budget_is_a_number_of_seconds_or_has_a_name():
    assert [seconds_for(None, name) for name in ("quick", "normal", "long", None)] == [10, 60, 600, 60]
    assert seconds_for(7, None) == 7
    for budget, effort in ((0, None), (-1, None), (math.nan, None), (5, "quick"), (None, "huge")):
        with pytest.raises(RaffiaError, match=r"budget|effort"):
            seconds_for(budget, effort)
