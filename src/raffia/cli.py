"""The command line: parses, calls, prints. Errors are one line and exit code 2."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.exceptions import NotFittedError

from raffia import __version__, data, metrics, papers, plotting
from raffia.bench import Bench
from raffia.checks import as_tensor, check_device, check_function
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap, FourierFeatures, PredictorCorrectorFeatures, ScalarFeatures
from raffia.files import atomic
from raffia.model import RandomFeatureModel, load
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem
from raffia.spaces import Domain, resample
from raffia.tuning import GradientSearch

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=__doc__.splitlines()[0],
)
console = Console(highlight=False)


class Example(StrEnum):
    """The benchmark problems."""

    burgers = "burgers"
    darcy = "darcy"
    bridge = "bridge"


class Map(StrEnum):
    """Feature maps for fit."""

    fourier = "fourier"
    scalar = "scalar"
    predictor_corrector = "predictor-corrector"


def main() -> None:
    """Run a command; every expected failure is one line on stderr and exit code 2."""
    try:
        app()
    except (RaffiaError, NotFittedError, OSError) as error:
        message = " ".join(str(error).split())
        sys.stderr.write(f"raffia: {message}\n")
        raise SystemExit(2) from None


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Learn maps between function spaces with random features."""
    if version:
        console.print(f"raffia {__version__}")
        raise typer.Exit


@app.command()
def demo(
    what: Annotated[Example, typer.Argument(help="Which problem.")] = Example.burgers,
    output: Annotated[Path, typer.Option(help="Folder for the model and the figure.")] = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of the features.")] = 0,
) -> None:
    """Train a surrogate on generated data, test it on grids it never saw.

    Example: raffia demo burgers --output out
    """
    output.mkdir(parents=True, exist_ok=True)
    if what is Example.bridge:
        _demo_bridge(output, seed)
    elif what is Example.burgers:
        _demo_operator(papers.BURGERS, "Burgers' equation, T = 1", 512, (64, 128, 256, 1024), 500, output / "burgers", seed)
    else:
        _demo_operator(papers.DARCY, "Darcy flow, a ∈ {3, 12}", 128, (17, 33, 65, 129), 100, output / "darcy", seed)


def _demo_operator(
    paper: papers.Experiment, title: str, n: int, grids: tuple[int, ...], n_test: int, stem: Path, seed: int
) -> None:
    """Train on one grid, test on several, of which the last is the finest."""
    console.print(f"{title}: {n} training pairs on {paper.points} points along an axis, {paper.n_features} features.")
    begun = time.perf_counter()
    train = _generate(paper.problem, n, paper.points, seed)
    test = _generate(paper.problem, n_test, grids[-1], seed + 1)
    generated = time.perf_counter() - begun
    begun = time.perf_counter()
    model = _fit(paper.model(random_state=seed), train)
    trained = time.perf_counter() - begun

    table = Table("test grid", "seen in training", "mean relative L² error", f"prediction of {n_test} inputs")
    errors = []
    for points in grids:
        target = test.domain.grid(points)
        a, y = (resample(f, test.domain.grid_of(f), target) for f in test)
        begun = time.perf_counter()
        predicted = _predict(model, a)
        spent = time.perf_counter() - begun
        errors.append(metrics.relative_error(y, predicted, target))
        table.add_row(str(points), "yes" if points == paper.points else "no", f"{errors[-1]:.4f}", f"{spent:.1f} s")
    console.print(table)
    console.print(
        f"The paper reports {paper.reported['test error']:.4f} with {paper.n_samples} pairs. "
        f"Data: {generated:.1f} s, training: {trained:.1f} s."
    )
    _save(
        model,
        stem.with_suffix(".safetensors"),
        {
            stem.with_suffix(".png"): plotting.prediction(test.a[0], test.y[0], model.predict(test.a[:1])[0], test.domain),
            stem.with_name(f"{stem.name}-grids.png"): plotting.error_against_resolution(
                grids, {f"trained on {paper.points}": errors}
            ),
        },
    )


def _demo_bridge(output: Path, seed: int) -> None:
    paper = papers.BROWNIAN_BRIDGE
    train, test = (paper.problem.dataset(n, seed=seed + i) for i, n in enumerate((paper.n_samples, paper.n_test)))
    order = torch.argsort(test.a)
    x, truth = test.a[order], test.y[order]
    curves: dict[str, np.ndarray] = {}
    table = Table("features", "Bochner error")
    for m in (50, 500, 5000):
        model = paper.model(random_state=seed, n_features=m).fit(train.a, train.y)
        curves[f"m = {m}"] = np.asarray(model.predict(x))
        table.add_row(str(m), f"{metrics.bochner_error(truth, curves[f'm = {m}']):.4f}")
    nodes = torch.argsort(train.a)
    ends = (np.array([0.0]), np.array([1.0]))
    curves["m = ∞"] = np.interp(
        x, np.concatenate([ends[0], train.a[nodes], ends[1]]), np.concatenate([[0], train.y[nodes], [0]])
    )
    table.add_row("∞ (piecewise linear)", f"{metrics.bochner_error(truth, curves['m = ∞']):.4f}")
    console.print(table)
    figure = plotting.brownian_bridge(x, truth, train.a, train.y, curves)
    _save(model, output / "bridge.safetensors", {output / "bridge.png": figure})


@app.command()
def generate(
    problem: Annotated[Example, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    n: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 512,
    points: Annotated[int, typer.Option(min=1, help="Grid points along an axis.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed; pair i is a function of (seed, i).")] = 0,
    viscosity: Annotated[float, typer.Option(help="Burgers: viscosity.")] = 0.01,
    final_time: Annotated[float, typer.Option("--time", help="Burgers: final time.")] = 1.0,
    low: Annotated[float, typer.Option(help="Darcy: lower value of the permeability.")] = 3.0,
    high: Annotated[float, typer.Option(help="Darcy: upper value of the permeability.")] = 12.0,
    fine_points: Annotated[int | None, typer.Option(min=3, help="Points along an axis to solve on, at least.")] = None,
) -> None:
    """Generate input-output pairs of a benchmark problem.

    Example: raffia generate burgers --n 512 --points 128 --output train.npz
    """
    chosen: Problem = {
        Example.burgers: Burgers(viscosity=viscosity, time=final_time),
        Example.darcy: Darcy(low=low, high=high),
        Example.bridge: BridgeRegression(),
    }[problem]
    if fine_points is not None:
        if problem is Example.bridge:
            raise RaffiaError("--fine-points is for problems on grids: burgers and darcy.")
        chosen.set_params(fine_points=fine_points)
    _check_output(output, ".npz")
    dataset = _generate(chosen, n, points, seed)
    data.write(output, dataset)
    console.print(f"wrote {len(dataset)} pairs, a {tuple(dataset.a.shape)} and y {tuple(dataset.y.shape)}, to {output}")


@app.command()
def fit(
    source: Annotated[Path, typer.Argument(metavar="DATA", help="An .npz file with arrays a and y.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    features: Annotated[int, typer.Option(min=1, help="Number of random features m.")] = 1024,
    feature_map: Annotated[
        Map, typer.Option("--map", help="Features: fourier, scalar (knows least of the problem), predictor-corrector (Darcy).")
    ] = Map.fourier,
    ridge: Annotated[str, typer.Option(help="The penalty λ: a number, or auto for the least leave-one-out error.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the features.")] = 0,
    periodic: Annotated[
        bool | None, typer.Option("--periodic/--box", help="Grid convention, for files that do not say.")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Search the hyperparameters of the features first.")] = False,
    device: Annotated[str | None, typer.Option(help="Where to compute: cpu or cuda.")] = None,
    memory_budget: Annotated[int | None, typer.Option(min=1, help="Bytes that features may take.")] = None,
) -> None:
    """Train a model on pairs in a file.

    Example: raffia fit train.npz --features 1024 --output model.safetensors
    """
    _check_output(output, ".safetensors")
    dataset = _read(source, periodic)
    domain = dataset.domain
    if domain.dim == 0 or (feature_map is Map.predictor_corrector and (domain.dim, domain.periodic) != (2, False)):
        raise RaffiaError(
            f"--map {feature_map} does not go with {source}, which has {domain}: "
            "fourier and scalar need functions, predictor-corrector functions on a rectangle."
        )
    chosen = _feature_map(feature_map, domain)
    penalty = _ridge(ridge)
    model = RandomFeatureModel(chosen, features, penalty, random_state=seed, device=device, memory_budget=memory_budget)
    begun = time.perf_counter()
    if tune:
        model.tune(dataset.a, dataset.y, GradientSearch(verbose=console.is_terminal))
    else:
        _fit(model, dataset)
    spent = time.perf_counter() - begun
    model.save(output)
    if tune:
        found = {
            name.removeprefix("feature_map__"): f"{value:.3g}" if isinstance(value, float) else value
            for name, value in model.history_.best.parameters.items()
        }
        console.print(model.history_.summary, soft_wrap=True)
        console.print(
            "found " + ", ".join(f"{name} {value}" for name, value in found.items() if name != "ridge"), soft_wrap=True
        )
        expected = f"error {model.held_out_error_:.4f} on a part held out"
    elif penalty == "auto":
        expected = f"expected error {model.loo_error_:.4f} (leave-one-out)"
    else:
        expected = f"training error {float((model.equations_.residual(model.coef_) / model.equations_.energy).sqrt()):.4f}"
    console.print(
        f"trained on {len(dataset)} pairs in {spent:.1f} s, ridge {model.ridge_:.1e}, {expected}; wrote {output}",
        soft_wrap=True,
    )


@app.command()
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="An .npz file with an array a, or an .npy file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npy file to write.")],
    times: Annotated[int, typer.Option(min=1, help="Apply the model this many times.")] = 1,
) -> None:
    """Predict outputs for inputs in a file, on their own grid.

    Example: raffia predict model.safetensors test.npz --output prediction.npy
    """
    _check_output(output, ".npy")
    model = load(model_file)
    predicted, domain = data.read_inputs(source)
    _check_domain(source, domain, model)
    for _ in range(times):
        predicted = _predict(model, predicted)
    with atomic(output) as temporary, temporary.open("wb") as file:
        np.save(file, predicted.numpy())
    console.print(f"wrote predictions {tuple(predicted.shape)} to {output}")


@app.command()
def evaluate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="An .npz file with arrays a and y.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare predictions with the truth in a file.

    Example: raffia evaluate model.safetensors test.npz
    """
    model = load(model_file)
    dataset = _read(source, model.feature_map.domain.periodic)
    _check_domain(source, dataset.domain, model)
    check_function("y", as_tensor("y", dataset.y), dataset.domain)
    predicted = _predict(model, dataset.a)
    grid = dataset.domain.grid_of(dataset.y)
    errors = metrics.relative_errors(dataset.y, predicted, grid)
    report = {
        "samples": len(dataset),
        "mean relative L2 error": float(errors.mean()),
        "median": float(errors.median()),
        "worst": float(errors.max()),
        "Bochner error": metrics.bochner_error(dataset.y, predicted, grid),
    }
    if as_json:
        sys.stdout.write(json.dumps(report, allow_nan=False) + "\n")
        return
    table = Table(show_header=False)
    for name, value in report.items():
        table.add_row(name, str(value) if isinstance(value, int) else f"{value:.5f}")
    console.print(table)


@app.command()
def bench(
    device: Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, a few seconds.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .json file to write.")] = None,
) -> None:
    """Measure assembly, solution, prediction and tuning against the limits of this machine.

    Example: raffia bench --quick
    """
    check_device(device)
    if output is not None:
        _check_output(output, ".json")
    with console.status("measuring") if console.is_terminal else nullcontext():
        report = Bench(device, quick).report()
    rates = report["ceilings"]
    console.print(
        f"{report['device']}, {report['name']}, float64: matrix product {rates['gemm'] / 1e9:.0f} GFLOP/s, "
        f"copy {rates['copy'] / 1e9:.0f} GB/s, inverse FFT {rates['fft'] / 1e9:.2f} G numbers/s"
    )
    table = Table("what", "sizes", "seconds", "rate", "ceiling", "of ceiling", "peak memory")
    for row in report["rows"]:
        memory = f"{row['peak_memory'] / 2**30:.2f} GiB"
        table.add_row(
            row["what"], row["sizes"], f"{row['seconds']:.4g}", row["rate"], row["ceiling"], f"{row['fraction']:.0%}", memory
        )
    console.print(table)
    if output is not None:
        with atomic(output) as temporary:
            temporary.write_text(json.dumps(report, indent=1, allow_nan=False))
        console.print(f"wrote {output}", soft_wrap=True)


def _generate(problem: Problem, n: int, points: int | None, seed: int) -> Dataset:
    parts = [problem.dataset(rows, points, seed) for rows in _progress("generating", n, 128)]
    a, y = torch.cat([part.a for part in parts]), torch.cat([part.y for part in parts])
    return Dataset(a, y, problem.domain, parts[0].settings | {"rows": [0, n]})


def _fit(model: RandomFeatureModel, dataset: Dataset) -> RandomFeatureModel:
    """Statistics add, so a fit in batches is the fit, and a bar can be shown; a ridge to be found needs all the data at once."""
    if model.ridge == "auto":
        with console.status("training") if console.is_terminal else nullcontext():
            return model.fit(dataset.a, dataset.y)
    for rows in _progress("training", len(dataset), 64):
        model.partial_fit(dataset.a[rows.start : rows.stop], dataset.y[rows.start : rows.stop])
    _ = model.solution_
    return model


def _predict(model: RandomFeatureModel, a: torch.Tensor) -> torch.Tensor:
    return torch.cat(
        [torch.as_tensor(model.predict(a[rows.start : rows.stop])) for rows in _progress("predicting", len(a), 128)]
    )


def _progress(label: str, total: int, size: int) -> Iterator[range]:
    """Ranges of `size` that cover 0 … total, with a bar when somebody is looking."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        for start in range(0, total, size):
            rows = range(start, min(start + size, total))
            yield rows
            bar.advance(task, len(rows))


def _read(source: Path, periodic: bool | None) -> Dataset:
    domain = None if periodic is None else Domain(data.dimension(source), periodic=periodic)
    return data.read(source, domain)


def _feature_map(which: Map, domain: Domain) -> FeatureMap:
    if which is Map.predictor_corrector:
        return PredictorCorrectorFeatures(domain=domain)
    return FourierFeatures(domain=domain) if which is Map.fourier else ScalarFeatures(n_modes=64 * domain.dim**2, domain=domain)


def _ridge(text: str) -> float | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise RaffiaError(f"--ridge must be a number >= 0, or auto; got {text!r}.") from None


def _check_output(output: Path, suffix: str) -> None:
    """Before the work, not after it."""
    if output.suffix != suffix:
        raise RaffiaError(f"--output must end in {suffix}; got {output}.")
    if not output.parent.is_dir():
        raise RaffiaError(f"--output {output}: there is no folder {output.parent}. Make it first.")


def _check_domain(source: Path, domain: Domain | None, model: RandomFeatureModel) -> None:
    if domain is not None and domain != model.feature_map.domain:
        raise RaffiaError(f"{source} has {domain}, the model was trained on {model.feature_map.domain}.")


def _save(model: RandomFeatureModel, model_file: Path, figures: dict[Path, plotting.Figure]) -> None:
    model.save(model_file)
    console.print(f"Model: {model_file}", soft_wrap=True)
    for picture, figure in figures.items():
        with atomic(picture) as temporary:
            figure.savefig(temporary, dpi=150)
        console.print(f"Figure: {picture}", soft_wrap=True)
