"""raffia generate, fit, predict, evaluate: surrogates from files to files."""

import json
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.table import Table

from raffia import data, metrics
from raffia.checks import as_tensor, check_function
from raffia.cli.common import Example, app, check_output, console, fit_in_batches, generate_in_batches, predict_in_batches
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap, FourierFeatures, PredictorCorrectorFeatures, ScalarFeatures
from raffia.files import atomic
from raffia.model import RandomFeatureModel, load
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem
from raffia.spaces import Domain
from raffia.tuning import GradientSearch


class Map(StrEnum):
    """Feature maps for fit."""

    fourier = "fourier"
    scalar = "scalar"
    predictor_corrector = "predictor-corrector"


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
    check_output(output, ".npz")
    dataset = generate_in_batches(chosen, n, points, seed)
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
    points: Annotated[
        str | None, typer.Option(help="Train on so many points along an axis, or auto for the fewest that serve.")
    ] = None,
) -> None:
    """Train a model on pairs in a file.

    Example: raffia fit train.npz --features 1024 --output model.safetensors
    """
    check_output(output, ".safetensors")
    dataset = _read(source, periodic)
    domain = dataset.domain
    if domain.dim == 0 or (feature_map is Map.predictor_corrector and (domain.dim, domain.periodic) != (2, False)):
        raise RaffiaError(
            f"--map {feature_map} does not go with {source}, which has {domain}: "
            "fourier and scalar need functions, predictor-corrector functions on a rectangle."
        )
    chosen = _feature_map(feature_map, domain)
    penalty = _ridge(ridge)
    model = RandomFeatureModel(
        chosen, features, penalty, random_state=seed, device=device, memory_budget=memory_budget, points=_points(points)
    )
    begun = time.perf_counter()
    if tune:
        model.tune(dataset.a, dataset.y, GradientSearch(verbose=console.is_terminal))
    else:
        fit_in_batches(model, dataset)
    spent = time.perf_counter() - begun
    model.save(output)
    if tune:
        console.print(model.history_.summary, soft_wrap=True)
        console.print(f"found {model.history_.found}", soft_wrap=True)
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
    check_output(output, ".npy")
    model = load(model_file)
    predicted, domain = data.read_inputs(source)
    _check_domain(source, domain, model)
    for _ in range(times):
        predicted = predict_in_batches(model, predicted)
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
    predicted = predict_in_batches(model, dataset.a)
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


def _points(text: str | None) -> int | Literal["auto"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise RaffiaError(f"--points must be an integer >= 3, or auto; got {text!r}.")
    return int(text)


def _check_domain(source: Path, domain: Domain | None, model: RandomFeatureModel) -> None:
    if domain is not None and domain != model.feature_map.domain:
        raise RaffiaError(f"{source} has {domain}, the model was trained on {model.feature_map.domain}.")
