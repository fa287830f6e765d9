"""The experiments behind `raffia reproduce`: the draws are the authors', nested models are models, files are kept, pages are whole."""

import json
import re

import numpy as np
import pytest
import torch

from raffia import Burgers, Domain, FourierFeatures, RaffiaError, RandomFeatureModel, papers
from raffia.pages import Picture, Table, write
from raffia.plotting.layout import panels
from raffia.reproduce import ITEMS, Lab, chosen, reported, run
from raffia.reproduce.comparison import Comparison, percent
from raffia.reproduce.draws import AliasedFeatures, authors_burgers
from raffia.reproduce.result import Result, read, section
from raffia.reproduce.study import Study


@pytest.fixture(scope="module")
def authors():
    return authors_burgers(40, 40, "cpu")


def test_the_authors_draws_give_the_authors_error():  # fig:gridtranfser_burg, n = 50, m = 128: 56 cells at paper scale agree to 3e-5
    features, draw = authors_burgers(50, 300, "cpu")
    study, here = Study(features, draw.theta[:128], 0.0), draw.on(128, 1)
    coef = study.coef(study.equations(here.a, here.y, (50,))[50], 128)
    stored = reported()["burgers_m_and_n"]
    value = stored["test"][stored["n"].index(50)][stored["m"].index(128)]
    assert study.errors([coef], here.test_a, here.test_y)[0] == pytest.approx(value, rel=0.03)  # 300 of the 4,000 tests


def test_aliased_features_are_features_of_the_subsampled_field(authors):
    features, draw = authors
    a, theta, points = draw.a[:2, ::32], draw.theta[:3], 32
    k = torch.fft.fftfreq(1024, 1 / 1024, dtype=torch.float64).abs()
    spread = np.sqrt(2.0) * 5.0**1.5 * (4 * np.pi**2 * k[1:512] ** 2 + 25) ** -1.0
    field = torch.zeros(3, 1024, dtype=torch.complex128)
    field[:, 1:512] = 1024 * spread * torch.complex(theta[:, 2::2], -theta[:, 1::2]) / 2
    coarse = torch.fft.ifft(2 * field).real[:, ::32]  # twice the real part: both signs of k
    chi = torch.minimum(2 * 0.0025 * 2 * np.pi * k[:17], (0.0025 * 2 * np.pi * k[:17] + 0.5) ** -4.0)
    product = chi * torch.fft.rfft(coarse)[:, None] * torch.fft.rfft(a)[None]
    wanted = torch.nn.functional.elu(1024 / points * torch.fft.irfft(product, n=points))
    torch.testing.assert_close(features(a, theta), wanted.transpose(0, 1), rtol=1e-9, atol=1e-9)


def test_on_a_grid_that_holds_all_modes_nothing_aliases():
    plain = FourierFeatures(n_modes=30)
    aliased = AliasedFeatures(plain)
    a = Burgers(fine_points=64).input_measure.sample(2, Domain(1).grid(64), seed=0)
    theta = plain.draw(4, seed=0)
    torch.testing.assert_close(aliased(a, theta), plain(a, theta))


@pytest.mark.parametrize("collapses", [False, True])
def test_a_study_is_models_trained_one_by_one(burgers, collapses):
    features, seed = FourierFeatures(n_modes=32), 3
    study = Study(features, features.draw(24, seed), 1e-5, collapses)
    equations = study.equations(burgers.a, burgers.y, (10, 30))
    coefs = [study.coef(equations[n], m) for n in (10, 30) for m in (8, 24)]
    found = study.errors(coefs, burgers.a[30:], burgers.y[30:])
    models = [
        RandomFeatureModel(features, m, ridge=1e-5, random_state=seed).fit(burgers.a[:n], burgers.y[:n])
        for n in (10, 30)
        for m in (8, 24)
    ]
    assert found == pytest.approx([-model.score(burgers.a[30:], burgers.y[30:]) for model in models], rel=1e-6)
    torch.testing.assert_close(study.predict(coefs[1], burgers.a[:3]), models[1].predict(burgers.a[:3]), rtol=1e-6, atol=1e-8)


def test_every_label_of_the_paper_has_an_item_and_words_name_them():
    assert len(ITEMS) == 10
    assert chosen("all") == list(ITEMS)
    assert chosen("time_upscale") == ["tab:time_upscale"]
    assert chosen("fig:bb_compare") == ["fig:bb_compare"]
    with pytest.raises(RaffiaError, match="ITEM must be all, or one of fig:bb_compare"):
        chosen("fig:nothing")


def test_the_papers_sizes_are_the_authors_stored_ones():
    stored = reported()
    for sweep, name in ((papers.BURGERS_M_AND_N, "burgers_m_and_n"), (papers.DARCY_M_AND_N, "darcy_m_and_n")):
        assert list(sweep.n) == stored[name]["n"]
        assert list(sweep.m) == stored[name]["m"]
    assert [points + 1 for points in papers.BURGERS_TRANSFER.test_points] == stored["burgers_transfer"]["test_points"]
    assert list(papers.DARCY_TRANSFER.test_points) == stored["darcy_transfer"]["test_points"]


def test_finished_items_are_not_run_again(tmp_path, monkeypatch):
    calls = []

    def item(lab):
        calls.append(lab.scale)
        return Result(
            item="fig:bb_compare", title="T", settings="S", remark="R", tables=[Table("c", ["h"], [["1"]])], numbers={"x": 1.0}
        )

    monkeypatch.setitem(ITEMS, "fig:bb_compare", item)
    for scale, kept in (("quick", False), ("quick", True), ("paper", False)):
        ((result, was_kept),) = run(["fig:bb_compare"], Lab(scale), tmp_path)
        assert (was_kept, result.numbers) == (kept, {"x": 1.0})
    assert calls == ["quick", "paper"]
    assert "T <small>" in (tmp_path / "index.html").read_text()


def test_a_damaged_result_is_named(tmp_path):
    path = tmp_path / "results" / "fig-bb_compare-quick.json"
    path.parent.mkdir()
    path.write_text('{"item": 1')
    with pytest.raises(RaffiaError, match=r"fig-bb_compare-quick\.json is damaged .* delete it"):
        list(run(["fig:bb_compare"], Lab(), tmp_path))


def test_the_brownian_bridge_approaches_its_interpolant_and_makes_a_whole_page(tmp_path):
    ((result, _),) = run(["fig:bb_compare"], Lab(), tmp_path)
    numbers = list(result.numbers.values())
    assert abs(numbers[2] - numbers[3]) < abs(numbers[1] - numbers[3]) < abs(numbers[0] - numbers[3])
    text = (tmp_path / "index.html").read_text()
    assert text.count("data:image/png;base64,") == 1
    assert not re.search(r'(src|href)="(?!data:|#)', text)  # nothing is fetched
    assert json.loads((tmp_path / "results" / "fig-bb_compare-quick.json").read_text())["made"]["scale"] == "quick"


def test_results_survive_their_file_and_pages_escape_what_they_show(tmp_path):
    result = Result(
        item="x:y",
        title="a < b",
        settings="s",
        remark="r & r",
        tables=[Table("c", ["h"], [["<td>"]] * 9)],
        pictures=[Picture("p", "AAAA")],
        numbers={"e": 0.5},
    )
    result.write(tmp_path / "r.json")
    assert read(tmp_path / "r.json") == result
    write(tmp_path / "p.html", "t", "", [section(result)])
    text = (tmp_path / "p.html").read_text()
    assert "a &lt; b" in text
    assert "r &amp; r" in text
    assert "<details>" in text  # long tables are folded


def test_a_panel_has_rings_for_the_authors_a_line_for_their_draws_and_a_band_for_fresh_ones():
    _, (axes,) = panels(1, 1, (4.0, 4.0))
    same = [0.31, 0.21]
    compared = Comparison(np.array([[0.3, 0.2]]), np.array([same]), np.array([[[0.3, 0.2]], [[0.4, 0.3]]]))
    compared.draw(axes, (16, 32), ["m = 1"], ("m", "error"))
    rings, line, mean = axes.lines[:3]
    assert rings.get_marker() == "o"
    assert rings.get_ydata().tolist() == [0.3, 0.2]
    assert list(line.get_ydata()) == same
    assert mean.get_ydata().tolist() == pytest.approx([0.35, 0.25])
    assert len(axes.collections) == 1
    assert [text.get_text() for text in axes.get_xticklabels()] == ["16", "32"]


def test_a_table_has_theirs_ours_and_the_spread_of_the_seeds():
    compared = Comparison(np.array([[0.2]]), np.array([[0.21]]), np.array([[[0.2]], [[0.3]]]))
    table = compared.table("c", [["1"]], ["n"])
    assert table.rows == [["1", "0.2000", "0.2100", "+5.0%", "0.2500", "0.2000 … 0.3000", "+25.0%"]]
    assert compared.differences("x") == pytest.approx(
        {"largest difference of the x": 0.05, "fresh, largest difference of the x": 0.25}
    )


def test_differences_are_told_in_per_cent():
    assert [percent(1.1, 1.0), percent(0.9, 1.0), percent(1.0001, 1.0)] == ["+10.0%", "-10.0%", "0.0%"]
