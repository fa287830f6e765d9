"""Numbers that decide in training and prediction. Those of error bars, novelty, splits and time stepping are in their own files."""

# Batches
BATCH_BYTES = 2**26
"""The default size of one batch in float64."""

# Clusters
PATIENCE = 60.0
"""Seconds to wait for a scheduler, and for workers if there are none."""
ADDED_AT_ONCE = 4
"""Statistics that one task adds."""
INTERVAL = 2.0
"""Seconds between checks for workers."""

# Normalisation
ROUNDING = 64.0
"""A standard deviation below this many rounding errors of the mean counts as zero."""

# Training on a coarser grid
CHECKED_FEATURES, CHECKED_SAMPLES = 64, 8
"""The numbers of features and samples for the check."""
CONVERGED, DOUBTFUL = 1e-3, 1e-2
"""The relative change of inner products that "auto" allows, and above which there is a warning."""

# Search of hyperparameters
SEARCHED_PAIRS = 2**13
"""A search uses this many pairs at most."""
COMPARED_PAIRS = 300
"""Kernels are compared on this many pairs at most."""
FEW_PAIRS = 100
"""With fewer distinct pairs, the held-out ones are too few to choose a ridge."""

# Pruning
DROPPED = 0.2
"""The share of the features that are dropped at a time."""

# Model files
MOST_DRAWN, MOST_PER_FEATURE = 2**26, 2**14
"""The most random numbers θ that a file may ask for: 512 MiB, or this many for each coefficient in the file."""

# Derivatives
DERIVATIVE_COPIES = 8
"""The approximate number of copies of the features of an input that derivatives need in memory."""

# Export
ROWS = (5, 7)
"""The numbers of rows of the two recorded batches."""
