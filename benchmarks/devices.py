"""Do CPU and GPU agree? Fits, predictions, error bars and solvers of small problems on both, largest relative difference.

python benchmarks/devices.py
"""

import torch

from raffia import (
    Burgers,
    Channels,
    Darcy,
    Domain,
    FourierFeatures,
    Mesh,
    NystromPCG,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    SketchedLSQR,
    TriangularQR,
    Vectors,
)

CASES = {
    "Burgers": (Burgers(fine_points=256).dataset(60, 64, seed=0), FourierFeatures(), {"ridge": 1e-6}),
    "Burgers, ridge auto": (Burgers(fine_points=256).dataset(60, 64, seed=0), FourierFeatures(), {"ridge": "auto"}),
    "Darcy": (Darcy(fine_points=33).dataset(40, 17, seed=0), PredictorCorrectorFeatures(), {"ridge": 1e-8}),
} | {
    f"Burgers, {solver!r}": (
        Burgers(fine_points=256).dataset(60, 64, seed=0),
        FourierFeatures(),
        {"ridge": 1e-6, "solver": solver},
    )
    for solver in (TriangularQR(), NystromPCG(matrix_free=True, rtol=1e-12), SketchedLSQR())
}


CIRCLE, SQUARE = Domain(1), Domain(2, periodic=False)
NODES = Mesh(torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), domain=SQUARE)
SPACES = {
    CIRCLE: (16,), SQUARE: (7, 8), NODES: (60,), Vectors(): (3,), Domain(0): (), Channels(CIRCLE, 2): (2, 16), Channels(NODES, 2): (2, 60),
}  # fmt: skip


def samples(space, seed):
    return torch.rand(12, *SPACES[space], generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5


def spaces():
    """The largest difference over all pairs of spaces, for features that are numbers and for those that are functions."""
    pairs = [(ScalarFeatures(6, 0.5, domain=d), d, o) for d in SPACES if d.ndim for o in SPACES]
    functions = (Channels(CIRCLE, 2), NODES, Channels(NODES, 2), SQUARE)
    shape = {"profile": "matern", "amplitude": 1.0, "bias": 0.5, "activation": "tanh"}
    pairs += [(FourierFeatures(10, domain=d, **shape), d, d.of if isinstance(d, Channels) else d) for d in functions]
    worst = 0.0
    for features, domain, output in pairs:
        a, y = samples(domain, 0), samples(output, 1)
        models = (RandomFeatureModel(features, 60, 1e-6, output=output, normalize=True, device=d) for d in ("cpu", "cuda"))
        here, there = (model.fit(a, y).predict(a).cpu() for model in models)
        worst = max(worst, float((there - here).abs().max() / here.abs().max()))
    return worst, len(pairs)


def main():
    if not torch.cuda.is_available():
        print("no GPU here: nothing to compare")
        return
    for name, ((a, y), features, settings) in CASES.items():
        here, there = (RandomFeatureModel(features, 128, device=device, **settings).fit(a, y) for device in ("cpu", "cuda"))
        (mean, std), (mean2, std2) = here.predict(a, return_std=True), there.predict(a, return_std=True)
        single = there.predict(a.float()).double()
        rows = [float((p - q).abs().max() / q.abs().max()) for p, q in ((mean2, mean), (std2, std), (single, mean))]
        print(f"{name:40} mean {rows[0]:.1e}   std {rows[1]:.1e}   float32 {rows[2]:.1e}")
    worst, count = spaces()
    print(f"{count} pairs of spaces, normalised{'':13} mean {worst:.1e}")


if __name__ == "__main__":
    main()
