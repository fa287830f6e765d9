"""raffia demo: a benchmark problem from data to figure."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from raffia import metrics, papers, plotting, surrogate
from raffia.cli.common import generate_in_batches, make_folder, predict_in_batches, print_table, working
from raffia.cli.console import app, console
from raffia.spaces import resample
from raffia.storage import atomic

EXAMPLES = {
    "burgers": (papers.BURGERS, 512, (64, 128, 256, 1024), 500),
    "darcy": (papers.DARCY, 128, (17, 33, 65, 129), 100),
}
"""The paper's experiment, the number of training pairs, the grids of the test with the finest last, and the number of test pairs."""


@app.command()
def demo(
    what: Annotated[Literal["burgers", "darcy"], typer.Argument(help="Which problem.")] = "burgers",
    output: Annotated[Path, typer.Option(help="Folder for the model and the figure.")] = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of the features.")] = 0,
) -> None:
    """Train a surrogate on generated data, test it on grids it never saw: the paper's features, and what raffia takes by itself.

    Example: raffia demo burgers --output out
    """
    make_folder(output)
    paper, n, grids, n_test = EXAMPLES[what]
    console.print(f"{what}: {n} training pairs on {paper.points} points along an axis, {paper.n_features} features.")
    begun = time.perf_counter()
    train = generate_in_batches(paper.problem, n, paper.points, seed)
    test = generate_in_batches(paper.problem, n_test, grids[-1], seed + 1)
    generated = time.perf_counter() - begun
    begun = time.perf_counter()
    with working("training"):
        model = paper.model(random_state=seed).fit(train.a, train.y)
    trained = time.perf_counter() - begun
    fitted = surrogate.fit(
        train, n_features=paper.n_features, held_out=0, seed=seed, on_message=lambda text: console.print(text, style="dim")
    )
    models = {"the paper's features": model, "raffia.fit": fitted.model}
    errors: dict[str, list[float]] = {name: [] for name in models}
    rows = []
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
    fitted.model.save(output / f"{what}.safetensors")
    console.print(f"Model: {output / what}.safetensors", soft_wrap=True)
    figures = {
        output / f"{what}.png": plotting.prediction(test.a[0], test.y[0], fitted.model.predict(test.a[:1])[0], test.domain),
        output / f"{what}-grids.png": plotting.error_against_resolution(grids, errors),
    }
    for picture, figure in figures.items():
        with atomic(picture) as temporary:
            figure.savefig(temporary, dpi=150)
        console.print(f"Figure: {picture}", soft_wrap=True)
