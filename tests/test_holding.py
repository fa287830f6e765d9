"""Which pairs are held out: whole groups, blocks of rows; and series whose steps resemble one another are noticed."""

import re
import time

import numpy as np
import pytest
import torch

import raffia
from raffia import Dataset, Domain, RaffiaError, Vectors, load
from raffia.data import open_source
from raffia.model.splitting import folds_of, groups_of, nearness, split, together
from raffia.model.trained import WorkPlan
from raffia.surrogate.budget import Clock
from raffia.surrogate.contest import contest
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.holding import Groups, hold
from raffia.surrogate.options import ModelOptions
from tests.test_cli import run

CIRCLE = Domain(1)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def series(runs=6, steps=40, points=16):
    """Waves of their own shape that travel: each step resembles the one before, each run no other."""
    x = torch.arange(points, dtype=torch.float64) / points
    waves = torch.arange(1, 6, dtype=torch.float64)
    sizes, phases = random(runs, 5) / waves, 6 * random(runs, 5, seed=1)
    t = torch.arange(steps + 1, dtype=torch.float64) / 100
    angle = 2 * torch.pi * waves * (x[:, None] - t[:, None, None]) + phases[:, None, None]
    return (sizes[:, None, None] * torch.sin(angle)).sum(-1)  # (runs, steps + 1, points)


def pairs(u):
    a, y = u[:, :-1].flatten(0, 1), u[:, 1:].flatten(0, 1)
    return Dataset(a, y + 0.3 * y**2, CIRCLE), np.repeat(np.arange(len(u)), u.shape[1] - 1)


def test_rows_with_one_label_and_copies_are_on_one_side():
    a = random(60, 5)
    a[50:] = a[:10]
    labels = torch.arange(60) // 5
    for seed in range(5):
        held, rest, _ = split(a, 20, seed, "held out", together(groups_of(a), labels))
        assert sorted([*held.tolist(), *rest.tolist()]) == list(range(60))
        assert set(labels[held].tolist()).isdisjoint(labels[rest].tolist())
        assert set((held % 50).tolist()).isdisjoint((rest % 50).tolist())
    parts = folds_of(a, 5, 0, "folds", labels)
    assert sorted(row for _, judged in parts for row in judged.tolist()) == list(range(60))
    assert all(set(labels[rest].tolist()).isdisjoint(labels[judged].tolist()) for rest, judged in parts)


def test_what_is_held_out_together_is_linked_by_chains():
    copies, labels = torch.tensor([0, 1, 1, 3, 4, 4]), torch.tensor([0, 0, 1, 1, 2, 3])
    assert together(copies, labels).tolist() == [0, 0, 0, 0, 4, 4]
    assert together(copies, None) is copies


def test_where_copies_chain_all_groups_labels_alone_are_held_out():
    assert together(torch.tensor([0, 1, 2, 2, 4, 4]), torch.tensor([0, 0, 0, 1, 1, 2])).tolist() == [0, 0, 0, 3, 3, 5]


def decaying(n=10, steps=30, points=16):
    """Waves that decay to nothing: whatever they begin with, they end alike."""
    x = torch.arange(points, dtype=torch.float64) / points
    return random(n, 1, 1) * torch.sin(2 * torch.pi * (x + random(n, 1, 1, seed=1))) * 0.5 ** torch.arange(steps)[:, None]


def test_trajectories_that_end_alike_are_held_out_whole():
    data = Dataset.of_trajectories(decaying(), CIRCLE, window=1)
    for given in (None, np.repeat(np.arange(10), 29)):
        found = raffia.fit(data, "linear", groups=given)
        held = data.along.trajectory[found.rows].unique()
        assert len(held) == 2
        assert found.rows == [row for row in range(len(data)) if data.along.trajectory[row] in held]
        assert f"in whole {'trajectories' if given is None else 'groups'} (2 of 10)" in found.split
        assert found.rollout.trajectories == 2
        assert len(found.rollout.errors) == 29
        copies = groups_of(data.a)
        known = int(np.isin(copies[found.rows], np.delete(copies.numpy(), found.rows)).sum())
        assert any(note.startswith(f"{known} of 58 inputs held out are copies of ones trained on") for note in found.notes)


def test_trajectories_that_begin_alike_are_held_out_together():
    u = decaying(12)
    u[6:] = u[:6]
    data = Dataset.of_trajectories(u, CIRCLE, window=1)
    for seed in range(4):
        held = set(data.along.trajectory[hold(data, 60, seed, Groups.by_trajectories(data.along, len(data), 60)).held].tolist())
        assert {(one + 6) % 12 for one in held} == held
        assert len(held) == 2


def test_of_few_large_groups_the_smallest_is_held_out():
    labels = torch.tensor([0] * 40 + [1] * 12 + [2] * 40)
    for seed in range(5):
        assert split(random(92, 3), 10, seed, "held out", labels)[0].sort().values.tolist() == list(range(40, 52))


def test_a_single_label_is_taken_apart_in_blocks_of_rows():
    labels = torch.zeros(60, dtype=torch.long)
    held, rest, _ = split(random(60, 3), 12, 0, "contest split", labels)
    assert (len(held), len(rest)) == (12, 48)
    assert (held.sort().values.diff() > 1).sum() <= 1
    for _, judged in folds_of(random(60, 3), 5, 0, "contest split", labels):
        assert len(judged) == 12
        assert (judged.diff() > 1).sum() <= 1


@pytest.mark.parametrize("size", [1e200, 1e308, 1.0, 1e-200, 1e-300])
def test_copies_are_the_same_in_all_units(size):
    a = random(40, 5) / 10
    a[30:] = a[:10]
    assert groups_of(size * a).tolist() == [*range(30), *range(10)]


def test_whole_groups_are_held_out_by_a_fit_and_inside_its_contest(monkeypatch):
    data, runs = pairs(series())
    seen = []
    monkeypatch.setattr(
        "raffia.surrogate.plan.contest", lambda *a, **told: (seen.append(told["groups"]), contest(*a, **told))[1]
    )
    found = raffia.fit(data, groups=runs, effort="quick", n_features=32)
    held = set(runs[found.rows].tolist())
    assert len(held) == 1  # a fifth of 240 rows holds one run of 40
    assert len(found.rows) == 40
    assert found.groups == [str(run) for run in runs[found.rows]]
    assert "in whole groups (1 of 6)" in found.split
    train = [i for i in range(240) if runs[i] not in held]
    assert (seen[0].unique(return_inverse=True)[1] == torch.from_numpy(runs[train]).unique(return_inverse=True)[1]).all()


def test_a_contest_never_judges_a_pair_by_models_that_saw_its_group():
    data, runs = pairs(series(steps=8))

    def held(groups=None):
        clock = Clock(WorkPlan(seconds=10.0, compared=1000), time.perf_counter())
        return contest(ExamplePairs(data.a, data.y, CIRCLE, CIRCLE), ModelOptions(n_features=32), clock, groups=groups)

    known, alone = (
        next(entry.error for entry in result.entries if entry.candidate.name == "kernel")
        for result in (held(groups=torch.from_numpy(runs)), held())
    )
    assert known > 5 * alone


def test_a_series_held_out_at_random_is_noticed_and_blocks_say_more():
    data, runs = pairs(series())
    told = []
    found = raffia.fit(data, "kernel", on_message=told.append)
    assert any("rows follow one another" in note for note in told)
    assert found.by_blocks > 20 * float(found.errors.mean())
    assert f"{found.by_blocks:.3g}" in " ".join(found.notes)
    new = raffia.fit(data, "kernel", groups=runs)
    assert float(new.errors.mean()) > 20 * float(found.errors.mean())
    assert new.by_blocks is None
    assert not any("rows follow" in note for note in new.notes)


def test_series_side_by_side_are_noticed_too():
    u = series(runs=8, steps=30)
    a = u[:, :-1].transpose(0, 1).flatten(0, 1)
    rows = torch.randperm(240, generator=torch.Generator().manual_seed(0))
    assert nearness(a, rows[:48].sort().values, rows[48:]).in_order


@pytest.mark.parametrize("size", [1, 3, 16, 500])
def test_independent_inputs_are_in_no_order(size):
    for seed in range(5):
        a = random(100, size, seed=seed)
        near = nearness(a, torch.arange(0, 100, 5), torch.arange(100)[torch.arange(100) % 5 != 0])
        assert not near.in_order
        assert near.close == (size == 1)


def test_the_distance_is_that_to_the_nearest_in_units_of_the_usual_one():
    a = torch.tensor([[0.0], [10.0], [20.0], [1.0], [12.0]], dtype=torch.float64)
    near = nearness(a, torch.tensor([3, 4]), torch.tensor([0, 1, 2]))
    assert near.distance == pytest.approx(1 / 8)  # the nearest are at 1 and 2, of all distances the lower median is 8
    assert nearness(torch.zeros(5, 2), torch.tensor([0]), torch.tensor([1, 2])).distance == 0


def test_blocks_are_runs_of_rows():
    data, _ = pairs(series())
    found = raffia.fit(data, "linear", blocks=True)
    rows = np.array(found.rows)
    assert 40 <= len(rows) <= 48
    assert (np.diff(rows) > 1).sum() <= 1  # two blocks
    assert "in blocks of consecutive rows" in found.split
    assert found.in_order


def test_a_sweep_of_one_parameter_is_told_from_parameters_at_random():
    a = torch.linspace(0, 1, 60, dtype=torch.float64)[:, None]
    y = torch.sin(6 * a * torch.linspace(0, 1, 20, dtype=torch.float64))
    swept = raffia.fit(Dataset(a, y, Vectors(), output=Domain(1, periodic=False)), "kernel")
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    mixed = raffia.fit(Dataset(a[order], y[order], Vectors(), output=Domain(1, periodic=False)), "kernel")
    assert swept.by_blocks is not None
    assert (mixed.by_blocks, mixed.notes) == (None, [])


def test_test_inputs_that_were_trained_on_are_counted():
    a = random(40, 16)
    found = raffia.fit(Dataset(a, a.flip(1), CIRCLE), "linear", test=Dataset(a[30:35], a[30:35].flip(1), CIRCLE))
    assert found.notes == ["5 of 5 inputs of the test are in the training data too, or nearly."]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.zeros(240), "two groups or more"),
        (np.zeros(7), "one label for each of 240 pairs"),
        (np.full(240, np.nan), "some are missing"),
        (np.zeros((240, 2)), "one label for each"),
        ("run", "names an array of a file"),
    ],
)
def test_groups_that_say_nothing_are_refused(groups, words):
    with pytest.raises(RaffiaError, match=words):
        raffia.fit(pairs(series())[0], "linear", groups=groups)


def test_groups_and_blocks_exclude_one_another():
    data, runs = pairs(series())
    with pytest.raises(RaffiaError, match="pass one of them"):
        raffia.fit(data, "linear", groups=runs, blocks=True)


def test_groups_are_for_data_that_are_read_as_a_whole(tmp_path):
    data, runs = pairs(series())
    np.savez(tmp_path / "d.npz", a=data.a, y=data.y, run=runs)
    source = open_source(tmp_path / "d.npz", periodic=True)
    with pytest.raises(RaffiaError, match="read as a whole"):
        raffia.fit(source, "linear", groups="run", stream=True)
    assert set(runs[raffia.fit(source, "linear", groups="run").rows]) == set(runs[raffia.fit(data, "linear", groups=runs).rows])


def test_groups_are_named_on_the_command_line_and_drawn_in_the_report(tmp_path, capsys):
    data, runs = pairs(series())
    names = np.array([f"run {i}" for i in runs])
    np.savez(tmp_path / "d.npz", a=data.a, y=data.y, run=names)
    words = ("fit", tmp_path / "d.npz", "--periodic", "--map", "linear", "-o", tmp_path / "m.safetensors")
    code, out, err = run(capsys, *words, "--groups", "run", "--held-out", 80)
    assert code == 0, err
    page = (tmp_path / "m.html").read_text()
    assert "in whole groups (2 of 6)" in page
    assert "Error by group" in page
    assert "of trajectories, against time" in page
    assert load(tmp_path / "m.safetensors").held_out_error_ == pytest.approx(
        float(re.search(r"mean relative error (\S+) on 80 pairs held out", out)[1]), rel=0.01
    )
    code, _, err = run(capsys, *words, "--groups", "nothing")
    assert (code, "has no array of that name" in err) == (2, True)


def test_a_series_is_said_in_the_terminal_and_in_the_report(tmp_path, capsys):
    data, _ = pairs(series())
    np.savez(tmp_path / "d.npz", a=data.a, y=data.y)
    code, out, _ = run(capsys, "fit", tmp_path / "d.npz", "--periodic", "--map", "kernel", "-o", tmp_path / "m.safetensors")
    assert code == 0
    said = re.search(r"Of blocks of consecutive rows held out, the mean relative error is (\S+)\. Hold", " ".join(out.split()))
    page = (tmp_path / "m.html").read_text()
    assert f"the mean relative error is {said[1]}" in page
    assert "Rows of the file follow one another: where blocks of them are held out" in page
    assert "Error along the file" in page
