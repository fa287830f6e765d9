"""Default constants of least squares: memory limits, and the choice of ridges and solvers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class RegressionDefaults:
    """Default constants of least squares: memory limits, and the choice of ridges and solvers."""

    # Memory
    rows_per_product: int = 2048
    """The inner length of one matrix product: long enough for full speed, short enough for the cache."""
    # Features in modes
    factorised_bytes: dict[str, int] = field(default_factory=lambda: {"cpu": 2**27, "cuda": 2**33})
    """Bytes of the matrices that are factorised at once."""
    gain: float = 30.0
    """The size of input channels relative to random features. Larger ones are no less penalised, and lose digits of the others."""
    ones: float = 10.0
    """The size of the constant relative to random features: a ridge of a share s of the trace reduces a mean function by s/100."""
    product_samples: dict[str, int] = field(default_factory=lambda: {"cpu": 256, "cuda": 2048})
    """Samples in one matrix product, enough for full speed."""
    least_tile_samples: int = 8
    """At least this many samples in one tile of features, since what all features of a sample share is computed once a tile.
    Tiles of expensive features are smaller: they have more intermediate values."""
    # Modal equations
    least_gap: float = 1e-9
    """Values of 1 − h below this are rounding errors."""
    # Modal equations in terms of samples
    most_scanned: dict[str, int] = field(default_factory=lambda: {"cpu": 512, "cuda": 4096})
    """Ridges are compared with this many samples at most."""
    # Choice of the ridge
    scanned_samples: int = 128
    """Ridges are compared by leaving out this many samples, one at a time. The error of the best ridge is over all samples."""
    left_out_samples: int = 512
    """The error and the noise level are estimated from this many samples where all would take too long."""
    fine: int = 2**12
    """Functions with more points than this tell more each and take longer. Fewer are left out, in inverse proportion to their points."""
    least_scanned: int = 16
    least_left_out: int = 64
    """But not fewer than these, to compare ridges and to estimate the error."""
    # Choice of the ridges of modal coefficients
    ordinary_samples: int = 32
    """Samples to leave out for the ridge of the ordinary part; each has many grid points."""
    most_ordinary: int = 8192
    """With more features there is no ordinary part, which takes an eigendecomposition of their Gram matrix."""
    left_out_bytes: int = 2**31
    """Bytes of features in memory while samples are left out in turn."""
    # Search of the ridges of all blocks at once
    coarse: tuple[float, ...] = (-12.0, -8.0, -4.0)
    around: tuple[float, ...] = (-2.0, 2.0)
    small: float = -15.5
    large: float = 0.0
    """Exponents of ten, relative to the scale of a block: tried first, around the best, and where a smaller or a
    larger one may be better."""
    faint: float = 1e-13
    explained: float = 0.5
    """A mode with a smaller share of the usual mean square may be rounding, unless a model explains this share of it."""
    variant_tolerance: float = 1.05
    """The variant without an ordinary part may have this multiple of the least error: it adds no errors to faint modes."""
    # Choice of the ridge of kernels
    scanned_pairs: int = 400
    """Ridges are compared by leaving out this many pairs, one at a time."""
    negligible: float = 1e-12
    """Directions of the outputs with a smaller share of their energy are neglected when ridges are compared."""
    # Kernel ridge regression
    residual_columns: int = 512
    """Columns of outputs whose residuals are computed together."""
    kernel_copies: int = 4
    """Copies of the kernel matrix in memory: itself, its eigenvectors and work space."""
    # Inequalities
    margin: float = 1e-9
    """The distance that is kept from bounds, relative to the largest value, so that rounding in predictions does not violate them."""
    negligible_row: float = 1e-13
    """A row shorter than this share of the longest one is zero: an equality fixes the value there."""
    largest_residual: float = 1e-6
    """The largest accepted residual of the optimality conditions."""
    found: int = 1
    infeasible: int = -1
    """Exit codes of daqp."""
    # Choice of the solver
    gram_copies: int = 4
    """Matrices of the size of G in memory: G, its mirror image or its shift, the factor, and work space."""


DEFAULTS = RegressionDefaults()
