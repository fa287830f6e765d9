import json
import os
import time

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from raffia import FourierFeatures, RaffiaError, RandomFeatureModel, load
from raffia.solvers import Pseudoinverse
from raffia.storage.atomic import PROCESS, atomic
from tests import processes
from tests.features.test_feature_maps import MeanOf


@pytest.fixture
def saved(small_model, tmp_path):
    path = tmp_path / "model.safetensors"
    small_model.save(path)
    return path


def test_a_loaded_model_predicts_bitwise_the_same(burgers, small_model, saved):
    assert torch.equal(load(saved).predict(burgers.a), small_model.predict(burgers.a))
    assert load(saved).get_params()["feature_map__tau"] == small_model.feature_map.tau


def predict(path):
    torch.save(load(path).predict(torch.load("a.pt", weights_only=True)), "p.pt")


def test_a_new_process_needs_nothing_but_the_file(burgers, small_model, saved, tmp_path):
    torch.save(burgers.a, tmp_path / "a.pt")
    processes.start(predict, saved, folder=tmp_path).ended()
    prediction = torch.load(tmp_path / "p.pt", weights_only=True)
    torch.testing.assert_close(prediction, small_model.predict(burgers.a), rtol=1e-12, atol=1e-14)


def test_theta_is_not_in_the_file(saved):
    with safe_open(saved, framework="pt") as file:
        assert sum(file.get_tensor(name).numel() for name in file.keys()) == 48  # noqa: SIM118 (not a dictionary)


def test_training_goes_on_after_loading_with_statistics(burgers, small_model, tmp_path):
    half = RandomFeatureModel(**small_model.get_params(deep=False)).fit(burgers.a[:20], burgers.y[:20])
    half.save(tmp_path / "half.safetensors", statistics=True)
    grown = load(tmp_path / "half.safetensors").partial_fit(burgers.a[20:], burgers.y[20:])
    torch.testing.assert_close(grown.predict(burgers.a), small_model.predict(burgers.a), rtol=1e-7, atol=1e-9)


def test_training_does_not_go_on_without_statistics(burgers, saved):
    model = load(saved)
    with pytest.raises(RaffiaError, match="statistics=True"):
        model.partial_fit(burgers.a, burgers.y)
    assert model.fit(burgers.a, burgers.y).equations_.n_samples == 40


def test_classes_of_your_own_are_named_when_loading(burgers, tmp_path):
    model = RandomFeatureModel(MeanOf(scale=0.5), 5, ridge=1e-3, solver=Pseudoinverse(rtol=1e-9)).fit(burgers.a, burgers.y)
    path = tmp_path / "own.safetensors"
    model.save(path)
    with pytest.raises(RaffiaError, match=r"classes=\[MeanOf\]"):
        load(path)
    again = load(path, classes=[MeanOf])
    assert (again.feature_map.scale, again.solver.rtol) == (0.5, 1e-9)
    assert torch.equal(again.predict(burgers.a), model.predict(burgers.a))


def damaged(tmp_path, metadata, tensors=None):
    path = tmp_path / "damaged.safetensors"
    save_file(tensors or {"x": torch.zeros(1)}, path, metadata=metadata)
    return path


def header(**content):
    return {"format": "raffia", "version": "2", "content": json.dumps(content)}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (None, "not one of raffia's"),
        ({"format": "pt"}, "not one of raffia's"),
        ({"format": "raffia", "version": "99", "content": "{}"}, "format version '99'.*Upgrade"),
        ({"format": "raffia", "version": "one", "content": "{}"}, "format version 'one'"),
        ({"format": "raffia", "version": "2", "content": "{"}, "damaged"),
        ({"format": "raffia", "version": "2"}, "damaged"),
        ({"format": "raffia", "version": "1", "content": "{}"}, "format version .1."),
        (header(dict={}), "does not hold a model"),
        (header(tensor="nowhere"), "damaged"),
        (
            {"format": "raffia", "version": "2", "content": json.dumps({"class": "os.system", "arguments": {"dict": {}}})},
            "not part of raffia",
        ),
        (
            {"format": "raffia", "version": "2", "content": json.dumps({"class": "raffia.io.read", "arguments": {"dict": {}}})},
            "which it is not",
        ),
        (
            {"format": "raffia", "version": "2", "content": json.dumps({"class": "raffia.no.Such", "arguments": {"dict": {}}})},
            "does not have",
        ),
    ],
)
def test_foreign_newer_and_damaged_files_give_one_clear_error(tmp_path, metadata, words):
    with pytest.raises(RaffiaError, match=words):
        load(damaged(tmp_path, metadata))


def test_every_truncation_gives_the_librarys_error(saved, tmp_path):
    content = saved.read_bytes()
    cut = tmp_path / "cut.safetensors"
    for size in range(0, len(content), max(1, len(content) // 60)):
        cut.write_bytes(content[:size])
        with pytest.raises(RaffiaError, match="damaged"):
            load(cut)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RaffiaError, match=r"there is no file .*nowhere"):
        load(tmp_path / "nowhere.safetensors")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, small_model, monkeypatch):
    before = saved.read_bytes()

    def fail(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("raffia.storage.archive.save_file", fail)
    with pytest.raises(RaffiaError, match="No space left"):
        small_model.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_saving_where_there_is_no_folder_says_so(small_model, tmp_path):
    with pytest.raises(RaffiaError, match="Choose a folder that exists"):
        small_model.save(tmp_path / "no" / "model.safetensors")


def test_objects_that_a_file_cannot_hold_are_refused_when_saving(burgers, tmp_path):
    model = RandomFeatureModel(MeanOf(), 5, ridge=1e-3).fit(burgers.a, burgers.y)
    model.solver = print
    with pytest.raises(RaffiaError, match="cannot save"):
        model.save(tmp_path / "m.safetensors")


def write_slowly(path):
    with atomic(path) as temporary:
        temporary.write_text("half")
        print(temporary.name, flush=True)
        time.sleep(60)


def test_what_another_process_writes_is_let_alone_until_it_is_killed_and_removed_then(small_model, tmp_path):
    path = tmp_path / "model.safetensors"
    other = processes.start(write_slowly, path, folder=tmp_path)
    name = other.first_line()
    small_model.save(path)
    assert sorted(os.listdir(tmp_path)) == [name, path.name]
    other.process.kill()
    other.ended()
    small_model.save(path)
    assert os.listdir(tmp_path) == [path.name]


def test_leftovers_of_an_earlier_process_of_our_own_number_are_removed(small_model, tmp_path):
    """In a container every run may have the number 1."""
    path = tmp_path / "model.safetensors"
    with atomic(path) as temporary:
        old = temporary.with_name(temporary.name.replace(PROCESS, "0" * len(PROCESS)))
        old.touch()
        small_model.save(path)
        assert sorted(os.listdir(tmp_path)) == sorted([path.name, temporary.name])


def test_a_symbolic_link_is_followed_and_stays(small_model, burgers, tmp_path):
    (tmp_path / "store").mkdir()
    link, target = tmp_path / "model.safetensors", tmp_path / "store" / "v1.safetensors"
    link.symlink_to(target)
    for _ in range(2):  # the file it points to is made, then replaced
        small_model.save(link)
        assert link.is_symlink()
        assert torch.equal(load(target).predict(burgers.a), small_model.predict(burgers.a))
    assert os.listdir(tmp_path / "store") == ["v1.safetensors"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkdir, "it is a folder"),
        (os.mkfifo, "it is a pipe or a device"),
        (lambda path: os.symlink(path, path), "it is a link that leads to itself"),
        (lambda path: os.symlink("/dev/null", path), "it is a pipe or a device"),
    ],
)
def test_only_a_plain_file_is_replaced(small_model, burgers, tmp_path, make, words):
    path = tmp_path / "model.safetensors"
    make(path)
    before = path.lstat()
    with pytest.raises(RaffiaError, match=rf"cannot write .*model\.safetensors: {words}\. Name a file"):
        small_model.save(path)
    with pytest.raises(RaffiaError, match=words):
        RandomFeatureModel(FourierFeatures(n_modes=8), 8, ridge=1e-3).fit(burgers, checkpoint=path)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
