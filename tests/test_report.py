"""Pages are whole, safe and about the samples they say; the report of a fit picks and words them right."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from raffia import Channels, Dataset, Domain, FourierFeatures, Mesh, RandomFeatureModel, Surrogate, Vectors
from raffia.data import Schema, SideSchema
from raffia.metrics import Errors, Sizes
from raffia.model.trained import Trained
from raffia.pages import Picture, Section, Table, write
from raffia.plotting import Figure
from raffia.report import cases, in_words, report
from raffia.surrogate.contest import Contest
from raffia.tuning import History, Trial

HOSTILE = """<script>alert("x")</script>'&</title>"""
LINE = Domain(1)


class Reader(HTMLParser):
    """The tags that are open at the end, those closed out of order, what would be fetched, ids, links and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.tags, self.attributes, self.words = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)

    def values(self, *names):
        return [value for name, value in self.attributes if name in names]


def whole(path):
    """Read a page, and see that it is one."""
    text = path.read_text(encoding="utf-8")
    reader = Reader(text)
    assert (reader.open, reader.wrong) == ([], [])
    assert not {"script", "link", "iframe", "object", "embed"} & set(reader.tags)
    assert all(value.startswith("data:image/png;base64,") for value in reader.values("src"))
    assert not re.search(r"https?://|url\(|@import", text)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    assert {value for value in reader.values("href") if value.startswith("#")} == {f"#{name}" for name in ids}
    return reader


def contest_of(header, rows):
    """A contest whose table is this one."""
    kind = type("Shown", (Contest,), {"header": header, "rows": rows})
    return kind(entries=[], n_train=1, n_validation=1)


@pytest.fixture(scope="module")
def trained():
    """A model, which the reports of these tests need for their facts alone."""
    a = torch.randn(8, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return RandomFeatureModel(FourierFeatures(n_modes=8), 4, ridge=1e-6).fit(a, a)


@pytest.fixture
def page(trained, tmp_path):
    """Write the report of a surrogate with these held-out pairs, predictions and errors, and read it."""

    def written(
        dataset, predicted, errors, model=trained, title="raffia fit data.npz", facts=(), notes=(), level=None, **known
    ):
        off = torch.as_tensor(errors).double()
        measured = Errors(off, torch.full_like(off, torch.nan), off[:, None], off[:, None])
        files = {"model_file": dict(facts).pop("model file", "model.safetensors")}
        known["notes"] = known.pop("warnings", [])
        known = {"measured": measured, "n_train": 8, "rows": None, "simpler": {}, "split": "a fifth"} | known
        surrogate = Surrogate(model=model, test=dataset, predicted=predicted, **{"contest": None, "history": None} | known)
        report(surrogate, tmp_path / "r.html", title=title, facts=dict(facts), notes=notes, level=level, **files)
        return whole(tmp_path / "r.html")

    return written


def held_out(n, shape=(16,), domain=LINE, output=None, out_shape=None):
    generator = torch.Generator().manual_seed(0)
    a, y = (torch.randn(n, *s, generator=generator, dtype=torch.float64) for s in (shape, out_shape or shape))
    return Dataset(a, y, domain, {}, output)


def test_every_text_of_a_page_is_escaped(tmp_path):
    table = Table(HOSTILE, [HOSTILE], [[HOSTILE]])
    picture = Picture.of(Figure(figsize=(1, 1)), HOSTILE)
    section = Section(
        title=HOSTILE,
        anchor=HOSTILE,
        label=HOSTILE,
        small=HOSTILE,
        facts={HOSTILE: HOSTILE},
        pictures=[picture],
        text=[HOSTILE, HOSTILE],
        points=[HOSTILE],
        code=HOSTILE,
        tables=[table, Table(HOSTILE, [HOSTILE], [[HOSTILE]] * 9)],
    )
    write(tmp_path / "p.html", HOSTILE, HOSTILE, [section])
    reader = whole(tmp_path / "p.html")
    assert "script" not in reader.tags
    assert reader.values("alt") == [HOSTILE]
    page, heading, rest, short, long = 2 + 1 + 1, 2 + 1, 2 + 1 + 2 + 1 + 1, 3, 1 + 1 + 1 + 9
    assert reader.text.count(HOSTILE) == page + heading + rest + short + long


def test_a_wide_picture_asks_for_room_in_its_own_figure_and_a_narrow_screen_scrolls_it(tmp_path):
    pictures = [Picture.of(Figure(figsize=(width, 1)), "c") for width in (4, 10, 30)]
    assert [picture.least_width for picture in pictures] == pytest.approx([16.8, 42, 80])
    write(tmp_path / "p.html", "t", "", [Section(title="s", anchor="s", pictures=pictures)])
    text = (tmp_path / "p.html").read_text()
    assert text.count('<div class="scroll" tabindex="0"><img') == 2
    assert text.count('<div class="scroll"><img') == 1


def test_a_picture_is_the_figure():
    figure = Figure(figsize=(2, 1))
    png = base64.b64decode(Picture.of(figure, "c").png)
    assert png.startswith(b"\x89PNG")
    assert (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) == (220, 110)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 11])
def test_best_median_and_worst_are_named_by_their_row_in_the_file(page, n):
    rng = np.random.default_rng(n)
    data = held_out(n)
    errors, rows = rng.permutation(np.arange(1, n + 1)) / 100, (1000 + rng.permutation(5 * n)[:n]).tolist()
    captions = page(data, 1.1 * data.y, errors, rows=rows, n_train=77).values("alt")[1:]
    ranked = sorted(zip(errors.tolist(), rows, strict=True))
    wanted = {"Best": ranked[0], "Median": ranked[(n - 1) // 2], "Worst": ranked[-1]}
    wanted = {"Only": ranked[0]} if n == 1 else {k: v for k, v in wanted.items() if n > 2 or k != "Median"}
    assert captions == [
        f"{name}: sample {row} of the file, relative error {error:.3g} ({100 * error:.2g} %)."
        for name, (error, row) in wanted.items()
    ]


def test_the_headline_says_how_many_how_good_and_how_bad(page):
    data = held_out(5)
    errors = np.array([0.01, 0.02, 0.03, 0.04, 0.4])
    text = page(data, data.y, torch.from_numpy(errors), n_train=20).text
    assert "Trained on 20 samples. On 5 samples" in text
    assert "10 % of the size of the truth on average, for half of them 3 % or less, at worst 40 %." in text
    assert "13 times the median" in text
    assert "Only 5 samples were held out" in text
    assert f"± {100 * errors.std(ddof=1) / 5**0.5:.2g} %" in text
    assert "sample 4 of those held out" in text


def test_failures_are_the_worst_and_are_told(page):
    data = held_out(3)
    predicted = data.y.clone()
    predicted[1] = torch.nan
    text = page(data, predicted, np.array([0.1, np.nan, 0.2])).text
    assert "1 of them had no finite error" in text
    assert "Worst: sample 1 of those held out, relative error nan (not finite)." in text
    text = page(data, data.y * np.nan, np.full(3, np.nan)).text
    assert "no prediction was finite: do not use this model" in text
    assert "learned little" in page(data, data.y * 0, np.ones(3)).text


@pytest.mark.parametrize(
    ("domain", "shape", "output", "out_shape", "pictures"),
    [
        (Domain(2, periodic=False), (6, 5), None, None, 4),
        (
            Vectors(),
            (3,),
            Mesh(torch.rand(30, 2, generator=torch.Generator().manual_seed(0)), domain=Domain(2, periodic=False)),
            (30,),
            5,
        ),
        (LINE, (16,), Vectors(2), (2,), 5),
        (LINE, (16,), Domain(0), (), 5),
    ],
)
def test_vectors_and_numbers_also_have_a_picture_against_the_truth(page, domain, shape, output, out_shape, pictures):
    data = held_out(4, shape, domain, output, shape if out_shape is None else out_shape)
    if out_shape == ():
        data = Dataset(data.a, torch.arange(4.0).double(), domain, {}, output)
    reader = page(data, data.y + 0.1, np.full(4, 0.1))
    assert reader.tags.count("img") == pictures
    assert any("against truth" in caption for caption in reader.values("alt")) == (
        output is not None and output.ndim < 2 and output.dim == 0
    )


def test_a_report_shows_what_it_was_given_and_only_that(page):
    data, errors = held_out(3), np.array([0.1, 0.2, 0.3])
    plain = page(data, data.y, errors)
    assert not {"contest", "search", "guesses"} & set(plain.values("id"))
    assert {"errors", "samples", "use", "caveats", "facts"} <= set(plain.values("id"))
    history = History([Trial({"feature_map__decay": 2.0}, 0.5, 8), Trial({"feature_map__decay": 3.0}, 0.25, 8)], seconds=1.0)
    contest = contest_of(["map", "error"], [["fourier", "0.125"]])
    full = page(data, data.y, errors, history=history, contest=contest, notes=["periodic, since it wraps"])
    assert "periodic, since it wraps" in full.text
    assert "0.125" in full.text
    assert "Validation error 0.5 → 0.25 with 8 features" in full.text
    assert "Found decay 3." in full.text
    assert full.tags.count("img") == plain.tags.count("img") + 1
    for words in ("1e-06", "a fifth", "An input is 16, an output 16"):
        assert words in full.text


def test_hostile_names_do_no_harm_and_instructions_quote_them(page):
    data = held_out(2)
    name = "it's <b> $(rm).safetensors"
    reader = page(data, data.y, np.ones(2), title=HOSTILE, facts={"model file": name, HOSTILE: HOSTILE},
                    notes=[HOSTILE], split=HOSTILE, contest=contest_of([HOSTILE], [[HOSTILE]]))  # fmt: skip
    assert "b" not in reader.tags
    code = reader.text[reader.text.index("import numpy") :]
    line = next(line for line in code.splitlines() if line.startswith("model = "))
    assert eval(line.removeprefix("model = raffia.load")) == name
    assert """raffia predict 'it'"'"'s <b> $(rm).safetensors' inputs.npy""" in code


def test_errors_are_worded_in_per_cent():
    assert [in_words(e) for e in (12.5, 0.034567, 2e-5, 3e-9, float("inf"))] == [
        "1,250 %",
        "3.5 %",
        "0.002 %",
        "3e-07 %",
        "not finite",
    ]


def test_the_median_case_is_the_lower_of_two():
    assert cases(np.array([0.4, 0.1, 0.3, 0.2])) == {"best": 1, "median": 3, "worst": 0}


def test_errors_just_below_one_are_written_as_they_are_read():
    assert [in_words(error) for error in (0.98, 0.994, 0.998, 1.0, 12.0)] == ["98 %", "99 %", "100 %", "100 %", "1,200 %"]


def test_a_picture_of_noise_takes_no_more_than_its_part_of_five_megabytes():
    figure = Figure(figsize=(12, 12))
    figure.figimage(np.random.default_rng(0).random((1320, 1320)), cmap="viridis")
    picture = Picture.of(figure, "c")
    assert 3 * len(picture.png) < 4.2e6
    assert picture.least_width == pytest.approx(50.4)  # as that of any figure of 12 inches


def measured(data, predicted):
    grid = data.output_space.grid_of(data.y)
    return Sizes.of(data.y, grid).errors(data.y, predicted, grid)


def test_the_model_stands_beside_what_is_simpler_and_each_channel_has_its_errors(page, monkeypatch):
    data = held_out(12, (2, 16), Channels(LINE, 2))
    own = measured(data, 1.1 * data.y)
    simple = {"the training mean": measured(data, 0 * data.y), "output = input": measured(data, 1.05 * data.y)}
    names = ("pressure", "speed")
    side = SideSchema(space=data.domain, names=names)
    monkeypatch.setattr(Trained, "file_schema", Schema(input=side, output=side))
    monkeypatch.setattr(Surrogate, "half_widths", lambda self, level: [0.5, 0.2])
    page = page(data, 1.1 * data.y, own.relative, measured=own, simpler=simple, notes=[], warnings=["rows follow one another."])
    for words in (
        "this model",
        "the training mean",
        "output = input",
        *names,
        "In units of deviations",
        "Rows follow one another.",
    ):
        assert words in page.text
    assert "hardly better than taking the input for the output" in page.text
    assert "The band holds a whole new output with a probability of 90 % or more." in page.text
    assert page.text.count(f"{float(own.relative.mean()):.3g}") >= 3  # of the model and of both channels, which are 10 % off


def test_vectors_have_errors_against_each_parameter_and_blocks_are_in_the_headline(page):
    data = held_out(12, (3,), Vectors(), LINE, (16,))
    own = measured(data, 1.1 * data.y)
    page = page(data, 1.1 * data.y, own.relative, measured=own, rows=list(range(12)), by_blocks=0.25, in_order=True)
    captions = page.values("alt")
    assert "Error against each parameter, a dot for each sample held out." in captions
    assert "Error along the file, whose rows follow one another." in captions
    assert "where blocks of them are held out, predictions are off by 25 %." in page.text
