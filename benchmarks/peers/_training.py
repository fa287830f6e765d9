"""How networks are trained here: Adam on the relative L² error, a cosine schedule, the budget split between trials and the last run."""

import math
import time

import torch

RATES = (3e-3, 1e-3)  # learning rates that are tried on four fifths of the pairs, each for a quarter of the budget


def relative(guess, y):
    """The mean relative L² error."""
    return ((guess - y).flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1).clamp(min=1e-12)).mean()


def _run(build, a, y, rate, seconds, batch, seed):
    torch.manual_seed(seed)
    model = build()
    optimiser = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-6)
    begun, epochs, model = time.perf_counter(), 0, model.train()
    while (spent := time.perf_counter() - begun) < seconds or epochs == 0:
        for group in optimiser.param_groups:
            group["lr"] = rate * (0.01 + 0.99 * (1 + math.cos(math.pi * min(1, spent / seconds))) / 2)
        for rows in torch.randperm(len(a)).split(batch):
            optimiser.zero_grad()
            relative(model(a[rows]), y[rows]).backward()
            optimiser.step()
        epochs += 1
    return model.eval()


def trained(build, a, y, seconds, seed, batch=20):
    """Return the trained network with the better of the learning rates; inputs and outputs are normalised around it."""
    a, y = torch.as_tensor(a, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)
    shift, scale = a.mean(0, keepdim=True), a.std().clamp(min=1e-12)
    mean, spread = y.mean(0, keepdim=True), y.std().clamp(min=1e-12)

    def whole():
        network = build()

        class Normalised(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, b):
                return self.network((b - shift) / scale) * spread + mean

        return Normalised()

    order = torch.randperm(len(a), generator=torch.Generator().manual_seed(seed))
    fit, check = order[: -max(1, len(a) // 5)], order[-max(1, len(a) // 5) :]
    errors = {}
    for rate in RATES:
        model = _run(whole, a[fit], y[fit], rate, seconds / 4, batch, seed)
        with torch.no_grad():
            errors[rate] = float(relative(model(a[check]), y[check]))
    model = _run(whole, a, y, min(errors, key=errors.get), seconds / 2, batch, seed)

    def predict(b):
        with torch.no_grad():
            return torch.cat([model(part) for part in torch.as_tensor(b, dtype=torch.float32).split(50)]).numpy()

    return predict
