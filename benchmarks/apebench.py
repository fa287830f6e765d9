"""Data made by APEBench itself: `raffia.fit` without options, and the error over 100 steps on other trajectories.

    python benchmarks/apebench.py make FOLDER    # where APEBench 0.1.1 is installed; raffia is not needed there
    python benchmarks/apebench.py fit FOLDER     # where raffia is installed
    python benchmarks/apebench.py fit FOLDER --noise 0.01

The data are those of APEBench's scenarios with their default settings: 160 points, 50 trajectories of 50 steps, float32. The error is the
geometric mean over 100 steps of the nRMSE, the mean of ‖error‖ / ‖truth‖, on 30 trajectories.
"""

import argparse
import time
from pathlib import Path

import numpy as np

NAMES = ("diff_burgers", "diff_kdv", "diff_ks_cons", "diff_ks", "diff_fisher")
STEPS = 100


def make(folder: Path) -> None:
    """Write a training and a test file for each scenario."""
    from apebench.scenarios import scenario_dict

    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        scenario = scenario_dict[name]()
        np.save(folder / f"{name}_train.npy", np.asarray(scenario.get_train_data()))
        np.save(folder / f"{name}_test.npy", np.asarray(scenario.get_test_data()))


def fit(folder: Path, name: str, noise: float, seed: int) -> None:
    """Print the error of one scenario."""
    import raffia

    train, test = (np.load(folder / f"{name}_{part}.npy") for part in ("train", "test"))
    if noise:
        draws = np.random.default_rng(seed).standard_normal(train.shape)
        train = (train + noise * np.sqrt(np.square(train).mean()) * draws).astype(np.float32)
    np.save(folder / "train.npy", train)
    start = time.perf_counter()
    surrogate = raffia.fit(folder / "train.npy", seed=seed)
    seconds = time.perf_counter() - start
    path = np.asarray(surrogate.model.rollout(test[:, 0], STEPS)).reshape(test[:, : STEPS + 1].shape).astype(np.float64)
    truth = test[:, 1 : STEPS + 1].astype(np.float64)
    error = np.linalg.norm(path[:, 1:] - truth, axis=-1) / np.linalg.norm(truth, axis=-1)
    mean = float(np.exp(np.log(error.mean(axis=(0, 2))).mean()))
    chosen = surrogate.contest.best.candidate.name if surrogate.contest else ""
    print(f"{name}: {mean:.2g} in {seconds:.0f} s, {chosen}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("make", "fit"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.task == "make":
        make(arguments.folder)
    else:
        for name in arguments.only:
            fit(arguments.folder, name, arguments.noise, arguments.seed)
