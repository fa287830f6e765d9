"""Do CPU and GPU agree? Fits, solvers, all pairs of spaces, and every public method for inputs on either side, strided or not.

python benchmarks/devices.py
"""

import copy
import math
import tempfile

import torch

from raffia import (
    Burgers,
    Channels,
    Darcy,
    Domain,
    FourierFeatures,
    Mesh,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
    load,
)
from raffia.solvers import NystromPCG

CASES = {
    "Burgers": (Burgers(fine_points=256).dataset(60, 64, seed=0), FourierFeatures(), {"ridge": 1e-6}),
    "Burgers, ridge auto": (Burgers(fine_points=256).dataset(60, 64, seed=0), FourierFeatures(), {"ridge": "auto"}),
    "Burgers, modal": (
        Burgers(fine_points=256).dataset(60, 64, seed=0),
        FourierFeatures(),
        {"ridge": "auto", "coefficients": "modal"},
    ),
    "Darcy, modal": (
        Darcy(fine_points=33).dataset(40, 17, seed=0),
        PredictorCorrectorFeatures(),
        {"ridge": "auto", "coefficients": "modal"},
    ),
    "Burgers, kernel": (
        Burgers(fine_points=256).dataset(60, 64, seed=0),
        ScalarFeatures(None, 2.0),
        {"ridge": "auto", "n_features": math.inf, "normalize": "function"},
    ),
    "Burgers, linear": (
        Burgers(fine_points=256).dataset(60, 64, seed=0),
        ScalarFeatures(None, law="affine"),
        {"ridge": "auto", "n_features": math.inf, "normalize": "function"},
    ),
    "Darcy": (Darcy(fine_points=33).dataset(40, 17, seed=0), PredictorCorrectorFeatures(), {"ridge": 1e-8}),
} | {
    f"Burgers, {solver!r}": (
        Burgers(fine_points=256).dataset(60, 64, seed=0),
        FourierFeatures(),
        {"ridge": 1e-6, "solver": solver},
    )
    for solver in (NystromPCG(matrix_free=True, rtol=1e-12),)
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
    kinds = [(*pair, 60, "ordinary") for pair in pairs]
    kinds += [(*pair, 60, "modal") for pair in pairs if isinstance(pair[0], FourierFeatures)]
    kinds += [
        (ScalarFeatures(None, 0.5, law=law, domain=d), d, o, math.inf, "ordinary")
        for law in ("student", "affine")
        for d in SPACES
        if d.ndim
        for o in SPACES
    ]
    worst = 0.0
    for features, domain, output, m, kind in kinds:
        a, y = samples(domain, 0), samples(output, 1)
        settings = {"ridge": 1e-6, "output": output, "normalize": True, "coefficients": kind}
        models = (RandomFeatureModel(features, m, device=d, **settings) for d in ("cpu", "cuda"))
        here, there = (model.fit(a, y).predict(a).cpu() for model in models)
        worst = max(worst, float((there - here).abs().max() / here.abs().max()))
    return worst, len(kinds)


METHODS = {
    "predict": lambda model, a, y: model.predict(a),
    "std": lambda model, a, y: model.predict(a, return_std=True)[1],
    "compose": lambda model, a, y: model.compose(a, 2),
    "errors": lambda model, a, y: model.errors(a, y),
    "score": lambda model, a, y: torch.tensor(model.score(a, y)),
    "band": lambda model, a, y: torch.stack(model.conformal(a, y, 0.8)(a)),
    "covers": lambda model, a, y: model.conformal(a, y, 0.8).covers(a, y).double(),
    "partial_fit": lambda model, a, y: (
        copy.deepcopy(model).set_params(ridge=1e-6).partial_fit(a.double(), y.double()).predict(a)
    ),
}


def strided(f):
    """The same values, every other entry of a longer tensor along its last axis."""
    return torch.stack([f, torch.zeros_like(f)], -1).flatten(-2)[..., ::2]


def methods():
    """Every public method, of a model that computes on the GPU and of one read there from a file, for inputs on either side."""
    a, y = Burgers(fine_points=256).dataset(90, 64, seed=0)
    new, truth = a[60:], y[60:]
    worst = {}
    for name, features, kind, m in (
        ("Fourier", FourierFeatures(), "ordinary", 96),
        ("modal", FourierFeatures(), "modal", 48),  # fewer than samples, so that statistics add
        ("scalar", ScalarFeatures(16), "ordinary", 96),
        ("kernel", ScalarFeatures(None, 2.0, law="student"), "ordinary", math.inf),
        ("linear", ScalarFeatures(None, law="affine"), "ordinary", math.inf),
    ):
        here = RandomFeatureModel(features, m, 1e-6, coefficients=kind).fit(a[:60], y[:60])
        with tempfile.TemporaryDirectory() as folder:
            functions = name != "scalar"
            if functions:
                here.predict(new, return_std=True)  # so that the file has a noise level
            here.save(f"{folder}/m.safetensors", statistics=here.equations_.portable)
            models = {
                "fitted": RandomFeatureModel(features, m, 1e-6, device="cuda", coefficients=kind).fit(a[:60], y[:60]),
                "where the data are": RandomFeatureModel(features, m, 1e-6, coefficients=kind).fit(
                    a[:60].cuda(), y[:60].cuda()
                ),
                "loaded": load(f"{folder}/m.safetensors", device="cuda"),
            }
        for where_from, model in models.items():
            for method, call in METHODS.items():
                if (not functions and method == "std") or (not model_has(model) and method == "partial_fit"):
                    continue
                wanted = call(here, new, truth).double()
                for where in ("cpu", "cuda"):
                    for layout in (torch.Tensor.contiguous, strided):
                        for dtype in (torch.float32, torch.float64):
                            given = [layout(f.to(where, dtype)) for f in (new, truth)]
                            found = call(model, *given)
                            assert method in ("errors", "score", "likelihood") or found.device.type == where, (
                                where_from,
                                method,
                                where,
                            )
                            off = float((found.double().cpu() - wanted).abs().max() / wanted.abs().max().clamp(min=1e-9))
                            key = (method, str(dtype).removeprefix("torch."))
                            worst[key] = max(
                                worst.get(key, (0.0, "")), (off, f"{name}, {where_from}, {where}, {layout.__name__}")
                            )
    for (method, dtype), (off, where) in sorted(worst.items()):
        print(f"{method:12} {dtype}  largest difference {off:.1e}  ({where})")


def model_has(model):
    """Whether it has statistics that add, as a file may not."""
    return hasattr(model, "equations_") and model.equations_.portable


def main():
    if not torch.cuda.is_available():
        print("no GPU here: nothing to compare")
        return
    for name, ((a, y), features, given) in CASES.items():
        settings = {"n_features": 128} | given
        here, there = (RandomFeatureModel(features, device=device, **settings).fit(a, y) for device in ("cpu", "cuda"))
        (mean, std), (mean2, std2) = here.predict(a, return_std=True), there.predict(a, return_std=True)
        single = there.predict(a.float()).double()
        rows = [float((p - q).abs().max() / q.abs().max()) for p, q in ((mean2, mean), (std2, std), (single, mean))]
        print(f"{name:40} mean {rows[0]:.1e}   std {rows[1]:.1e}   float32 {rows[2]:.1e}")
    methods()
    worst, count = spaces()
    print(f"{count} pairs of spaces, normalised{'':13} mean {worst:.1e}")


if __name__ == "__main__":
    main()
