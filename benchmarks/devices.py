"""Do CPU and GPU agree? Fits, predictions, error bars and solvers of small problems on both, largest relative difference.

python benchmarks/devices.py
"""

import torch

from raffia import (
    Burgers,
    Darcy,
    FourierFeatures,
    NystromPCG,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    SketchedLSQR,
    TriangularQR,
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


if __name__ == "__main__":
    main()
