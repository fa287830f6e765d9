"""Ridge regression from all input values to all output values; the ridge by leave-one-out (scikit-learn)."""

import numpy as np
from sklearn.linear_model import RidgeCV


def fit(a, y, task, seconds, seed):
    """Return the prediction function of the best linear map."""
    shape, mean, scale = y.shape[1:], y.mean(0), max(float(y.std()), 1e-30)
    flat = a.reshape(len(a), -1).astype(float)
    centre, spread = flat.mean(0), max(float(flat.std()), 1e-30)
    model = RidgeCV(np.logspace(-10, 3, 14)).fit((flat - centre) / spread, ((y - mean) / scale).reshape(len(y), -1))
    return lambda b: model.predict((b.reshape(len(b), -1) - centre) / spread).reshape(len(b), *shape) * scale + mean
