"""What the pictures share."""

import numpy as np
from torch import Tensor

Array = np.ndarray | Tensor

INK, TRUTH, PREDICTION, ERROR = "#4c4c4c", "#1f6fb2", "#d1495b", "#7a5195"
