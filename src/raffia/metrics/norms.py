"""Relative errors between samples of functions (eqn:test_error), and in the Bochner norm."""

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Nodes

Array = np.ndarray | Tensor


def relative_errors(y: Array, prediction: Array, grid: Nodes | None = None) -> Tensor:
    """The relative L² error of each prediction, ‖y_i − p_i‖ / ‖y_i‖.

    Parameters
    ----------
    y, prediction
        Arrays of one shape, (n, *grid).
    grid
        The nodes, with their quadrature. None weighs all points equally, which is exact on a torus.

    Returns
    -------
    Tensor
        The errors, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from raffia.metrics import relative_errors
    >>> relative_errors(np.ones((2, 4)), np.full((2, 4), 1.5)).tolist()
    [0.5, 0.5]
    """
    error, norm = _norms(y, prediction, grid)
    if (norm == 0).any():
        index = int(torch.nonzero(norm == 0)[0])
        raise RaffiaError(f"the relative error is undefined: y[{index}] is zero. Use bochner_error, or leave it out.")
    return error / norm


def relative_error(y: Array, prediction: Array, grid: Nodes | None = None) -> float:
    """The mean relative L² error of predictions, (1/n) Σ_i ‖y_i − p_i‖ / ‖y_i‖   (eqn:test_error).

    Parameters
    ----------
    y, prediction
        Arrays of one shape, (n, *grid).
    grid
        The nodes, with their quadrature. None weighs all points equally, which is exact on a torus.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia.metrics import relative_error
    >>> relative_error(np.ones((2, 4)), np.full((2, 4), 1.5))
    0.5
    """
    return float(relative_errors(y, prediction, grid).mean())


def bochner_error(y: Array, prediction: Array, grid: Nodes | None = None) -> float:
    """The relative error over all samples together, (Σ_i ‖y_i − p_i‖²)^½ / (Σ_i ‖y_i‖²)^½. Large outputs count more.

    Parameters
    ----------
    y, prediction
        Arrays of one shape, (n, *grid).
    grid
        The nodes, with their quadrature. None weighs all points equally.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia.metrics import bochner_error
    >>> bochner_error(np.ones((2, 4)), np.full((2, 4), 1.5))
    0.5
    """
    error, norm = _norms(y, prediction, grid)
    return float(torch.linalg.vector_norm(error) / torch.linalg.vector_norm(norm))


def _norms(y: Array, prediction: Array, grid: Nodes | None) -> tuple[Tensor, Tensor]:
    truth, guess = (torch.as_tensor(values, dtype=torch.float64).detach().cpu() for values in (y, prediction))
    if truth.shape != guess.shape or truth.ndim == 0 or len(truth) == 0:
        raise RaffiaError(
            f"y and prediction must have one shape (n, *grid); got {tuple(truth.shape)} and {tuple(guess.shape)}."
        )
    if not torch.isfinite(truth).all():
        raise RaffiaError("y must be finite; it holds NaN or infinite values. Leave those samples out.")
    flat = (lambda f: f.reshape(len(f), -1)) if grid is None else grid.embed
    return torch.linalg.vector_norm(flat(truth - guess), dim=-1), torch.linalg.vector_norm(flat(truth), dim=-1)
