"""AutoEmulate's own comparison of emulators, for parameters or principal components of the inputs to those of the outputs."""

import numpy as np
import torch

from peers._components import Components


def fit(a, y, task, seconds, seed):
    """Return the prediction function of the emulator that its comparison ranks first."""
    from autoemulate import AutoEmulate

    ins, outs = Components(a, 1e-6, 32), Components(y, 1e-8, 32)
    x, target = (torch.as_tensor(c, dtype=torch.float32) for c in (ins.encode(a), outs.encode(y)))
    compared = AutoEmulate(x, target, log_level="error", random_seed=seed, n_iter=5)
    best = compared.best_result().model

    def predict(b):
        guess = best.predict(torch.as_tensor(ins.encode(b), dtype=torch.float32))
        guess = getattr(guess, "mean", guess)
        return outs.decode(np.asarray(guess.detach().numpy(), dtype=float).reshape(len(b), -1))

    return predict
