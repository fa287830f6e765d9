"""Models of one time step, composed, beside an FNO of neuraloperator that is trained on the same trajectories in the same run.

python benchmarks/time.py --only navier-stokes --trajectories 100 25 --device cuda --fno 60
Without --fno this is `raffia benchmark time`. neuraloperator is no dependency: pip install neuraloperator.
"""

import argparse
import time

import torch

from raffia.reproduce.evolution import CASES, compared, drawn, followed


def fno(name, train, test, epochs, device, seed):
    """A Fourier neural operator of one step: 16 modes, 32 channels, 4 layers, Adam with a one-cycle schedule, relative L² loss."""
    from neuralop.models import FNO

    torch.manual_seed(seed)
    channels = train.shape[2] if train.ndim > CASES[name].problem.domain.dim + 2 else 1
    grid = train.shape[-CASES[name].problem.domain.dim :]
    states = train.reshape(*train.shape[:2], channels, *grid).float().to(device)
    a, y = states[:, :-1].flatten(0, 1), states[:, 1:].flatten(0, 1)
    shift, scale = a.mean(), a.std()
    begun = time.perf_counter()
    model = FNO(n_modes=(16,) * len(grid), hidden_channels=32, in_channels=channels, out_channels=channels).to(device)
    batches = -(-len(a) // 20)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-6)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, epochs * batches)
    for _ in range(epochs):
        for rows in torch.randperm(len(a), device=device).split(20):
            optimiser.zero_grad()
            guess = model((a[rows] - shift) / scale) * scale + shift
            off, size = (f.flatten(1).norm(dim=1) for f in (guess - y[rows], y[rows]))
            (off / size).mean().backward()
            optimiser.step()
            schedule.step()
    seconds = time.perf_counter() - begun
    state, path = test[:, 0].reshape(len(test), channels, *grid).float().to(device), []
    with torch.no_grad():
        for _ in range(test.shape[1] - 1):
            state = model((state - shift) / scale) * scale + shift
            path.append(state.reshape(test[:, 0].shape).double().cpu())
    numbers = sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())
    return followed(name, f"FNO, {epochs} epochs", torch.stack([test[:, 0].cpu(), *path], 1), test, seconds, numbers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["burgers", "kdv", "ks"], choices=CASES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--trajectories", type=int, nargs="+", default=[None], help="to train on")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fno", type=int, default=0, help="epochs of an FNO, beside ours")
    asked = parser.parse_args()
    for name in asked.only:
        for count in asked.trajectories:
            for seed in asked.seeds:
                found, surrogate = compared(name, seed, asked.device, count)
                print(f"{name}, {count or CASES[name].trajectories} trajectories, seed {seed}: {found.words}", flush=True)
                for row in surrogate.contest.rows:
                    print("   ", "  ".join(row)[:200], flush=True)
                if asked.fno:
                    print("   ", fno(name, *drawn(name, seed, count), asked.fno, asked.device, seed).words, flush=True)
