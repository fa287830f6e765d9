"""Default constants of training and prediction."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelDefaults:
    """Default constants of training and prediction."""

    # Batches
    batch_bytes: int = 2**26
    """The default size of one batch in float64."""
    # Clusters
    patience: float = 60.0
    """Seconds to wait for a scheduler, and for workers if there are none."""
    added_at_once: int = 4
    """Statistics that one task adds."""
    interval: float = 2.0
    """Seconds between checks for workers."""
    # Normalisation
    rounding: float = 64.0
    """A standard deviation below this many rounding errors of the mean counts as zero."""
    # Training on a coarser grid
    checked_features: int = 64
    checked_samples: int = 8
    """The numbers of features and samples for the check."""
    converged: float = 1e-3
    doubtful: float = 1e-2
    """The relative change of inner products that "auto" allows, and above which there is a warning."""
    # Search of hyperparameters
    searched_pairs: int = 2**13
    """A search uses this many pairs at most."""
    compared_pairs: int = 300
    """Kernels are compared on this many pairs at most."""
    few_pairs: int = 100
    """With fewer distinct pairs, the held-out ones are too few to choose a ridge."""
    # Pruning
    dropped: float = 0.2
    """The share of the features that are dropped at a time."""
    # Model files
    most_drawn: int = 2**26
    most_per_feature: int = 2**14
    """The most random numbers θ that a file may ask for: 512 MiB, or this many for each coefficient in the file."""
    # Derivatives
    derivative_copies: int = 8
    """The approximate number of copies of the features of an input that derivatives need in memory."""
    # Export
    rows: tuple[int, ...] = (5, 7)
    """The numbers of rows of the two recorded batches."""


DEFAULTS = ModelDefaults()
