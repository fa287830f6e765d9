"""The page to play with models: what the server tells it, and what a hand can do with it in a real browser."""

import asyncio
import json
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

from raffia import (
    Channels,
    Darcy,
    Domain,
    FourierFeatures,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
)
from raffia.data import Schema, SideSchema
from tests.browser import CHROMIUM, browser

for package in ("aiohttp", "orjson"):
    pytest.importorskip(package, reason="the extra serve is not installed")

from raffia.serve import serving  # noqa: E402


@pytest.fixture(scope="module")
def models(small_model):
    darcy = Darcy(fine_points=9).input_measure.sample(12, Domain(2, periodic=False).grid(9), seed=0)
    field = RandomFeatureModel(PredictorCorrectorFeatures(), 10, 1e-8).fit(darcy, darcy / 10)
    x = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    numbers = RandomFeatureModel(ScalarFeatures(domain=Vectors()), 40, 1e-6, output=Vectors(), normalize=True)
    two = torch.randn(12, 2, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    channels = RandomFeatureModel(FourierFeatures(4, domain=Channels(Domain(1), 2)), 10, 1e-3).fit(two, two)
    return {"burgers": small_model, "field": field, "numbers": numbers.fit(x, np.sin(x[:, :2])), "channels": channels}


@pytest.fixture(scope="module")
def pairs(burgers, models, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "test.npz"
    np.savez(file, a=burgers.a[:5].numpy(), y=burgers.y[:5].numpy())
    frame = models["burgers"].trained_.frame
    return {"burgers": Schema(input=SideSchema(space=frame.input), output=SideSchema(space=frame.output)).pairs(file)}


@pytest.fixture(scope="module")
def url(models, pairs):
    with serving(models, page=True, pairs=pairs) as address:
        yield address


def ask(url, path, content=None):
    body = None if content is None else json.dumps(content).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data=body)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def test_the_page_is_told_what_models_are(url):
    found = {model["name"]: model for model in ask(url, "/page/models")}
    sides = {name: (model["input"]["kind"], model["output"]["kind"]) for name, model in found.items()}
    assert sides == {
        "burgers": ("curve", "curve"), "field": ("field", "field"), "numbers": ("numbers", "numbers"), "channels": ("curve", "curve"),
    }  # fmt: skip
    assert (found["burgers"]["pairs"], found["burgers"]["file"], found["burgers"]["grids"]) == (
        5,
        "test.npz",
        [[32], [64], [128], [256]],
    )
    assert (found["burgers"]["band"], found["channels"]["input"]["count"], found["numbers"]["grids"]) == ("bars", 2, [])
    assert len(found["field"]["start"]) == 81


def test_the_page_gets_predictions_with_their_band(url, burgers, small_model):
    a = burgers.a[:1].double()
    found = ask(url, "/page/predict", {"name": "burgers", "input": a[0].tolist(), "grid": [64]})
    mean, deviation = small_model.predict(a, return_std=True)
    np.testing.assert_allclose(found["output"], mean[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["half"], 2 * deviation[0], rtol=1e-8)
    np.testing.assert_allclose(found["axes"], [np.arange(64) / 64])


def test_the_page_gets_pairs_on_any_grid_with_their_errors(url, burgers, small_model):
    found = ask(url, "/page/pair", {"name": "burgers", "number": 2, "grid": [128]})
    np.testing.assert_allclose(found["input"][::2], burgers.a[2], atol=1e-12)
    np.testing.assert_allclose(found["truth"], burgers.y[2])
    apart = small_model.predict(burgers.a[2:3])[0] - burgers.y[2]
    assert found["off"] == pytest.approx(float(apart.norm() / burgers.y[2].norm()), rel=1e-6)
    there = ask(url, "/page/move", {"name": "burgers", "input": found["input"], "from": [128], "grid": [64]})
    np.testing.assert_allclose(there["input"], burgers.a[2], atol=1e-12)


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("/page/pair", {"name": "burgers", "number": 5, "grid": [64]}, "one of the 5 pairs"),
        ("/page/pair", {"name": "field", "number": 0}, "one of the 0 pairs"),
        ("/page/pair", {"name": "burgers", "number": "0"}, "one of the 5 pairs"),
        ("/page/predict", {"name": "burgers", "input": [1.0], "grid": [64]}, "list of 64 numbers"),
        ("/page/predict", {"name": "burgers", "input": [0.0] * 64, "level": 0.9}, "level must be one of []"),
        ("/page/predict", {"name": "field", "input": [-1.0] * 81}, "strictly positive"),
        ("/page/move", {"name": "nobody"}, "no model 'nobody'"),
    ],
)
def test_what_a_page_cannot_ask_for_is_refused(url, path, content, words):
    assert words in ask(url, path, content)["error"]["message"]


def test_every_asset_is_local(url):
    for path in (
        "/",
        "/page/app.js",
        "/page/style.css",
        "/page/input.js",
        "/page/output.js",
        "/page/plot.js",
        "/page/field.js",
    ):
        with urllib.request.urlopen(url + path) as answer:
            text = answer.read().decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_without_the_option_there_is_no_page(small_model):
    with serving({"m": small_model}) as address:
        assert ask(address, "/") == ask(address, "/Info")
        assert ask(address, "/page/models")["error"]["type"] == "UnsupportedFeature"


LINE = "document.querySelector('#output .prediction')?.getAttribute('d')"
ANSWERS = "Number(document.body.dataset.answers)"


async def after(tab, act):
    """Do something that changes the input, and wait until the prediction has come."""
    before = await tab.run(ANSWERS)
    await act
    await tab.wait_for(f"{ANSWERS} > {before} && document.body.dataset.busy === 'false'")


async def chosen(tab, select, value):
    await tab.run(
        f"{{const s = document.getElementById('{select}'); s.value = '{value}'; s.dispatchEvent(new Event('change'))}}"
    )


async def played(tab, url, width, height):
    await tab.open(url, width, height)
    await tab.wait_for(f"{ANSWERS} > 0 && document.querySelector('#input .value')")
    assert "Pair 1 of test.npz: the prediction is off by" in await tab.run("document.getElementById('words').textContent")
    assert await tab.run("document.querySelectorAll('#output .band, #output .truth').length") == 2
    seen = [await tab.run(LINE)]
    x, y = await tab.place("#input svg", 0.4, 0.4)
    await after(tab, tab.drag((x, y), (x, y - 20), (x + 4, y - 40)))
    seen.append(await tab.run(LINE))
    assert "changed" in await tab.run("document.getElementById('words').textContent")
    await after(tab, chosen(tab, "grid", "128"))
    assert (await tab.run(LINE)).count(",") == 128
    await tab.run("document.querySelectorAll('#tools button')[1].click()")
    x, y = await tab.place("#input svg", 0.3, 0.5)
    await after(tab, tab.drag((x, y), (x + 20, y - 30), (x + 60, y + 30)))
    seen.append(await tab.run(LINE))
    await after(tab, tab.run("document.getElementById('after').click()"))
    seen.append(await tab.run(LINE))
    await after(tab, tab.run("document.getElementById('reset').click()"))
    assert len(set(seen)) == len(seen)
    await after(tab, chosen(tab, "model", "field"))
    picture = "document.querySelector('#output canvas').toDataURL()"
    before, (x, y) = await tab.run(picture), await tab.place("#input canvas", 0.4, 0.4)
    await after(tab, tab.drag((x, y), (x + 10, y + 10)))
    assert await tab.run(picture) != before
    await after(tab, chosen(tab, "model", "numbers"))
    before = await tab.run("document.querySelector('#output table').textContent")
    slide = "{const s = document.getElementById('slider-0'); s.value = s.max; s.dispatchEvent(new Event('input'))}"
    await after(tab, tab.run(slide))
    assert await tab.run("document.querySelector('#output table').textContent") != before
    await after(tab, chosen(tab, "model", "channels"))
    before = await tab.run(LINE)
    await chosen(tab, "output-channel", "1")
    assert await tab.run(LINE) != before
    assert await tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.wrong == []


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_dragging_an_input_changes_the_prediction(url, width, height):
    pytest.importorskip("tornado")

    async def look():
        async with browser() as tab:
            await played(tab, url, width, height)

    asyncio.run(look())


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_the_page_says_when_the_server_has_gone(small_model):
    pytest.importorskip("tornado")

    async def look():
        async with browser() as tab:
            with serving({"m": small_model}, page=True) as address:
                await tab.open(address, 1280, 800)
                await tab.wait_for(f"{ANSWERS} > 0 && document.querySelector('#input .value')")
            x, y = await tab.place("#input svg")
            await tab.drag((x, y), (x, y - 30))
            await tab.wait_for("document.getElementById('words').textContent.includes('Is it still running?')")

    asyncio.run(look())
