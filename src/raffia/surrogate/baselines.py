"""What needs no features, beside which a model is judged: the mean of the training outputs, the input itself, the best linear map."""

import torch
from torch import Tensor

from raffia.data import Dataset
from raffia.metrics import Errors
from raffia.model import RandomFeatureModel
from raffia.spaces import resample

MEAN, INPUT, LINEAR = "the training mean", "output = input", "the best linear map"
SAME, NEARLY = 1e-6, 0.02  # mean relative errors of the input, taken for the output: below them both are one, or nearly


def simple_predictions(train: Dataset, test: Dataset, linear: RandomFeatureModel | None) -> dict[str, Tensor]:
    """What they predict for the test inputs: the mean of the training outputs, the inputs where they could be outputs, a linear map."""
    grid, here = test.output_space.grid_of(test.y), train.output_space.grid_of(train.y)
    mean = train.y.double().mean(0)
    if here != grid:  # the test is on another grid
        mean = resample(mean, here.one_channel, grid.one_channel)
    guesses: dict[str, Tensor] = {MEAN: mean.expand(test.y.shape)}
    if test.domain == test.output_space and test.a.shape == test.y.shape:
        guesses[INPUT] = test.a.double()
    if linear is not None:
        guesses[LINEAR] = torch.as_tensor(linear.predict(test.a)).double()
    return guesses


def baseline_warnings(measured: Errors, simpler: dict[str, Errors]) -> list[str]:
    """Warnings where outputs are their inputs, or nearly, and where the model is no better than a simple prediction."""
    mean = {name: float(errors.relative.mean()) for name, errors in simpler.items()}
    notes = []
    error = mean.get(INPUT, 1.0)
    if error < SAME:
        notes.append("outputs are the same as their inputs: is this the pair of arrays that is meant?")
    elif error < NEARLY:
        notes.append(
            f"outputs are nearly their inputs: taking the input for the output has a mean relative error of {error:.2g} already. "
            "Learn the difference instead, if that is what matters."
        )
    own = float(measured.relative.mean())
    better = [name for name in (MEAN, INPUT) if own > mean.get(name, own) > SAME]
    if better:
        notes.append(f"the model is worse than {' and '.join(better)}: do not use it for inputs like those held out.")
    return notes
