"""raffia demo: a benchmark problem from data to figure."""

import time
from pathlib import Path
from typing import Annotated

import typer

from raffia import metrics, papers, plotting, surrogate
from raffia.cli.common import Example, fit_in_batches, generate_in_batches, make_folder, predict_in_batches, print_table
from raffia.cli.console import app, console
from raffia.model import RandomFeatureModel
from raffia.reproduce.bridge import Bridge
from raffia.spaces import resample
from raffia.storage import atomic


@app.command()
def demo(
    what: Annotated[Example, typer.Argument(help="Which problem.")] = Example.burgers,
    output: Annotated[Path, typer.Option(help="Folder for the model and the figure.")] = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of the features.")] = 0,
) -> None:
    """Train a surrogate on generated data, test it on grids it never saw.

    Example: raffia demo burgers --output out
    """
    make_folder(output)
    if what is Example.bridge:
        _demo_bridge(output, seed)
    elif what is Example.burgers:
        _demo_operator(papers.BURGERS, "Burgers' equation, T = 1", 512, (64, 128, 256, 1024), 500, output / "burgers", seed)
    else:
        _demo_operator(papers.DARCY, "Darcy flow, a ∈ {3, 12}", 128, (17, 33, 65, 129), 100, output / "darcy", seed)


def _demo_operator(
    paper: papers.Experiment, title: str, n: int, grids: tuple[int, ...], n_test: int, stem: Path, seed: int
) -> None:
    """Train on one grid, test on several, of which the last is the finest: the paper's features, and what raffia takes by itself."""
    console.print(f"{title}: {n} training pairs on {paper.points} points along an axis, {paper.n_features} features.")
    begun = time.perf_counter()
    train = generate_in_batches(paper.problem, n, paper.points, seed)
    test = generate_in_batches(paper.problem, n_test, grids[-1], seed + 1)
    generated = time.perf_counter() - begun
    begun = time.perf_counter()
    model = fit_in_batches(paper.model(random_state=seed), train)
    trained = time.perf_counter() - begun
    fitted = surrogate.fit(
        train, n_features=paper.n_features, held_out=0, seed=seed, on_message=lambda text: console.print(text, style="dim")
    )
    models = {"the paper's features": model, "raffia.fit": fitted.model}

    rows = []
    errors: dict[str, list[float]] = {name: [] for name in models}
    for points in grids:
        target = test.domain.grid(points)
        a, y = (resample(f, test.domain.grid_of(f), target) for f in test)
        for name, one in models.items():
            errors[name].append(metrics.relative_error(y, predict_in_batches(one, a), target))
        used = "yes" if points == paper.points else "no"
        rows.append([str(points), used, *(f"{values[-1]:.2g}" for values in errors.values())])
    print_table(rows, ["test grid", "used in training", *models], f"mean relative L² error on {n_test} inputs")
    console.print(
        f"The paper reports {paper.reported['test error']:.4f} with {paper.n_samples} pairs. "
        f"Data: {generated:.1f} s, training: {trained:.1f} s with the paper's features, {fitted.seconds:.1f} s with raffia.fit."
    )
    _save(
        fitted.model,
        stem.with_suffix(".safetensors"),
        {
            stem.with_suffix(".png"): plotting.prediction(
                test.a[0], test.y[0], fitted.model.predict(test.a[:1])[0], test.domain
            ),
            stem.with_name(f"{stem.name}-grids.png"): plotting.error_against_resolution(grids, errors),
        },
    )


def _demo_bridge(output: Path, seed: int) -> None:
    bridge = Bridge.drawn(seed)
    names = [name.removeprefix("m = ").replace("∞", "∞ (piecewise linear)") for name in bridge.errors]
    print_table(zip(names, map("{:.4f}".format, bridge.errors.values()), strict=True), ["features", "Bochner error"])
    _save(bridge.models[5000], output / "bridge.safetensors", {output / "bridge.png": bridge.figure()})


def _save(model: RandomFeatureModel, model_file: Path, figures: dict[Path, plotting.Figure]) -> None:
    model.save(model_file)
    console.print(f"Model: {model_file}", soft_wrap=True)
    for picture, figure in figures.items():
        with atomic(picture) as temporary:
            figure.savefig(temporary, dpi=150)
        console.print(f"Figure: {picture}", soft_wrap=True)
