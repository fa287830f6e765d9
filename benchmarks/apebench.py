"""Data made by APEBench itself: `raffia.fit` without options, and the error over 100 steps on other trajectories.

    python benchmarks/apebench.py make FOLDER    # where APEBench 0.1.1 is installed; raffia is not needed there
    python benchmarks/apebench.py fit FOLDER     # where raffia is installed
    python benchmarks/apebench.py fit FOLDER --noise 0.01 --seed 1

One-dimensional scenarios have APEBench's default settings: 160 points, 50 trajectories of 50 steps, float32. Those in two dimensions have
48² points and 20 trajectories of 30 steps. A seed is that of the training set. The error is the geometric mean over 100 steps of the
nRMSE, the mean of ‖error‖ / ‖truth‖ over trajectories, summed over channels, as APEBench has it. Then the saved model is followed for
1,000 steps, or 200 in two dimensions.
"""

import argparse
import time
from pathlib import Path

import numpy as np

LINES = ("diff_burgers", "diff_kdv", "diff_ks_cons", "diff_ks", "diff_fisher")
PLANES = ("phy_decay_turb", "phy_kolm_flow", "phy_burgers", "phy_sh", "phy_gs_type")
SQUARE = {
    "num_spatial_dims": 2,
    "num_points": 48,
    "num_train_samples": 20,
    "train_temporal_horizon": 30,
    "num_test_samples": 10,
    "test_temporal_horizon": 200,
}
STEPS = 100


def make(folder: Path, name: str, seed: int) -> None:
    """Write a training and a test file of one scenario."""
    from apebench.scenarios import scenario_dict

    folder.mkdir(parents=True, exist_ok=True)
    scenario = scenario_dict[name](train_seed=seed, **(SQUARE if name in PLANES else {}))
    np.save(folder / f"{name}_{seed}_train.npy", np.asarray(scenario.get_train_data()))
    np.save(folder / f"{name}_test.npy", np.asarray(scenario.get_test_data()))


def fit(folder: Path, name: str, seed: int, noise: float) -> None:
    """Print the error of one scenario."""
    import raffia

    train, test = (np.load(folder / f"{name}_{part}.npy") for part in (f"{seed}_train", "test"))
    if noise:
        draws = np.random.default_rng(seed).standard_normal(train.shape)
        train = (train + noise * np.sqrt(np.square(train).mean()) * draws).astype(np.float32)
    np.save(folder / "train.npy", train)
    start = time.perf_counter()
    surrogate = raffia.fit(folder / "train.npy", seed=seed)
    seconds = time.perf_counter() - start
    path = np.asarray(surrogate.model.rollout(test[:, 0], STEPS)).reshape(test[:, : STEPS + 1].shape).astype(np.float64)
    truth = test[:, 1 : STEPS + 1].astype(np.float64)
    axes = tuple(range(3, truth.ndim))
    error = np.sqrt(np.square(path[:, 1:] - truth).sum(axes) / np.square(truth).sum(axes)).sum(2).mean(0)
    chosen = surrogate.contest.best.candidate.name if surrogate.contest else ""
    long = 1000 if name in LINES else 200
    followed = np.asarray(surrogate.model.rollout(test[:, 0], long, every=long))
    lost = int((~np.isfinite(followed)).reshape(len(followed), -1).any(1).sum())
    mean = float(np.exp(np.log(error).mean()))
    print(
        f"{name}, seed {seed}: {mean:.2g} in {seconds:.0f} s, {chosen}; {lost} of {len(test)} lost in {long} steps", flush=True
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("make", "fit"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=LINES + PLANES)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.only:
        if arguments.task == "make":
            make(arguments.folder, name, arguments.seed)
        else:
            fit(arguments.folder, name, arguments.seed, arguments.noise)
