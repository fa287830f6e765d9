"""Predictions have derivatives: forwards, backwards, twice and batched."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, jacrev, jvp, vjp, vmap

from raffia import FourierFeatures, Mesh, RaffiaError, RandomFeatureModel, ScalarFeatures, resample
from tests.derivatives.cases import CIRCLE, KINDS, LINE, MAPS, MESH, MODELS, SQUARE, fourier, pairs, stacked, trained

ROOT = Path(__file__).parent.parent.parent
CHECKS = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-4}
QUICK = [name for i, name in enumerate(MODELS) if i % 21 == 0 or name in ("stacked", "pruned")]


def inputs(model, n=2):
    return pairs(model.feature_map.domain, n, seed=7)[0]


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def normal(like, seed=1):
    return torch.randn(like.shape, dtype=like.dtype, generator=seeded(seed))


def check(model):
    a = inputs(model)
    assert gradcheck(model.predict, a.clone().requires_grad_(), check_forward_ad=True, fast_mode=True, **CHECKS)
    assert gradgradcheck(model.predict, a.clone().requires_grad_(), fast_mode=True, **CHECKS)
    values, back = vjp(model.predict, a)
    s, v = normal(values), normal(a, 2)
    tangent = jvp(model.predict, (a,), (v,))[1]
    size = float(tangent.norm() * s.norm())
    assert abs(float((s * tangent).sum() - (back(s)[0] * v).sum())) <= 1e-10 * size
    batched = vmap(lambda one: model.predict(one[None])[0])(a)
    assert torch.allclose(batched, model.predict(a), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", QUICK)
def test_predictions_have_two_derivatives_the_tangent_is_the_adjoint_of_the_gradient_and_batches_agree(name):
    check(MODELS[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_every_model_have_two_derivatives(name):
    check(MODELS[name]())


BARS = {
    "ordinary": lambda: trained(MAPS["fourier 0"], normalize=True),
    "ordinary on a box": lambda: trained(MAPS["fourier 3"]),
    "modal": lambda: trained(MAPS["fourier 0"], coefficients="modal"),
    "modal on a mesh": lambda: trained(MAPS["fourier 6"], coefficients="modal", normalize="function"),
    "kernel": lambda: trained(ScalarFeatures(None, domain=LINE), math.inf, normalize=True),
    "linear": lambda: trained(ScalarFeatures(None, law="affine"), math.inf),
}


@pytest.mark.parametrize("name", BARS)
def test_error_bars_and_bands_have_derivatives(name):
    model = BARS[name]()
    a = inputs(model).requires_grad_()
    assert gradcheck(lambda a: model.predict(a, return_std=True), a, check_forward_ad=True, fast_mode=True, **CHECKS)
    band = model.conformal(*pairs(model.feature_map.domain, 12, seed=3), level=0.7)
    assert gradcheck(band, a, fast_mode=True, **CHECKS)


def test_error_bars_of_a_sum_of_models_have_derivatives():
    one, other = trained(fourier(CIRCLE), normalize=True), trained(fourier(CIRCLE, "tanh"))
    model = stacked(one, other)
    assert gradcheck(lambda a: model.predict(a, return_std=True), inputs(model).requires_grad_(), fast_mode=True, **CHECKS)


def test_a_path_of_steps_has_the_derivative_of_the_chain_rule():
    model = trained(MAPS["fourier 0"])
    a, v = inputs(model, 1), normal(inputs(model, 1))
    b, w = jvp(model.predict, (a,), (v,))
    assert torch.allclose(jvp(lambda a: model.compose(a, 2), (a,), (v,))[1], jvp(model.predict, (b,), (w,))[1], atol=1e-12)


def test_where_a_grid_is_another_derivatives_go_through_what_interpolates():
    for space, shape in ((CIRCLE, (14,)), (LINE, (11,)), (SQUARE, (7, 6))):
        for model in (trained(ScalarFeatures(4, domain=space)), trained(ScalarFeatures(None, domain=space), math.inf)):
            a = pairs(space, 2, shape=shape)[0]
            assert gradcheck(model.predict, a.requires_grad_(), check_forward_ad=True, fast_mode=True, **CHECKS)


def test_functions_that_are_carried_between_meshes_and_grids_are_followed():
    there, grid = (Mesh(torch.rand(12, 2, generator=seeded(3), dtype=torch.float64), domain=SQUARE)), SQUARE.grid(5)
    for source, target in ((MESH, there), (MESH, grid), (grid, MESH)):
        f = torch.rand(2, *source.shape, generator=seeded(4), dtype=torch.float64)
        values, back = vjp(lambda f, s=source, t=target: resample(f, s, t), f)
        assert torch.allclose(values, resample(f, source, target), atol=1e-13)
        s = normal(values)
        assert torch.isclose((back(s)[0] * f).sum(), (s * values).sum())  # it is linear


@pytest.mark.parametrize("name", ["scalar 1", "modal local 1", "modal fourier 5", "kernel gaussian 1"])
def test_predictions_on_another_grid_have_two_derivatives_and_batches_agree(name):
    """Each function has an interpolant of its own, which is chosen without looking at the others."""
    model = MODELS[name if "kernel" in name else f"{name}, normalize=False"]()
    shape = tuple(points + 3 for points in model.input_grid_.shape)
    a = pairs(model.feature_map.domain, 2, seed=7, shape=shape)[0]
    batched = vmap(lambda one: model.predict(one[None])[0])(a)
    assert torch.allclose(batched, model.predict(a), rtol=1e-10, atol=1e-10)
    assert gradcheck(model.predict, a.clone().requires_grad_(), check_forward_ad=True, fast_mode=True, **CHECKS)
    assert gradgradcheck(model.predict, a.clone().requires_grad_(), fast_mode=True, **CHECKS)


def test_tangents_that_are_set_by_hand_are_those_of_differences():
    model = trained(MAPS["fourier 0"], normalize=True)
    a, h = inputs(model), 1e-6
    v = normal(a)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(model.predict(forward_ad.make_dual(a, v))).tangent
    assert torch.allclose(tangent, (model.predict(a + h * v) - model.predict(a - h * v)) / (2 * h), atol=1e-7)


def test_parts_of_a_long_batch_are_joined_with_their_derivatives():
    model = trained(MAPS["fourier 0"], batch_size=2)
    a = inputs(model, 7)
    assert gradcheck(model.predict, a.requires_grad_(), check_forward_ad=True, fast_mode=True, **CHECKS)


def test_single_precision_has_gradients_of_its_own_precision():
    model = trained(MAPS["fourier 0"], normalize=True)
    a = inputs(model)
    there = grad(lambda a: model.predict(a).square().sum())(a)
    here = grad(lambda a: model.predict(a).square().sum())(a.float())
    assert here.dtype == torch.float32
    assert torch.allclose(here.double(), there, rtol=1e-3, atol=1e-4 * float(there.abs().max()))


def test_what_a_transformation_made_first_is_kept_for_plain_calls():
    """Nothing that a transformation wraps, or inference mode forbids to use again, stays behind in caches."""
    for name in ("carried 1", "iterated 3", "fourier 6", "additive", "neural", "scalar 1"):
        first, again = trained(MAPS[name]), trained(MAPS[name])
        a = inputs(first)
        jacrev(first.predict)(a)
        with torch.inference_mode():
            again.predict(a.clone())
        plain = first.predict(a)
        assert torch.equal(plain, again.predict(a))
        assert torch.equal(plain, trained(MAPS[name]).predict(a))
        assert plain.numpy() is not None
        assert gradcheck(again.predict, a.clone().requires_grad_(), fast_mode=True, **CHECKS)


def test_a_model_that_was_trained_on_tensors_with_gradients_holds_none():
    a, y = pairs(CIRCLE)
    model = RandomFeatureModel(FourierFeatures(n_modes=8), 5, 1e-3, normalize=True).fit(a.requires_grad_(), y.requires_grad_())
    assert not model.coef_.requires_grad
    assert not model.predict(a.detach()).requires_grad
    assert isinstance(model.score(a, y), float)


def test_numpy_in_stays_numpy_out_and_says_the_same():
    model = trained(MAPS["fourier 0"])
    a = inputs(model)
    assert isinstance(model.predict(a.numpy()), np.ndarray)
    assert np.array_equal(model.predict(a.numpy()), model.predict(a).numpy())


def test_an_input_of_no_use_is_refused_inside_a_transformation_too():
    model = trained(MAPS["additive"])
    with pytest.raises(RaffiaError, match="strictly positive"):
        jvp(model.predict, (-inputs(model),), (inputs(model),))
    with pytest.raises(RaffiaError, match="finite"):
        grad(lambda a: model.predict(a).sum())(inputs(model) * math.nan)


COMPILED = """
import sys
import torch
from tests.derivatives.cases import MAPS, pairs, trained

name = sys.argv[1].removeprefix("modal ")
operator = trained(MAPS[name], coefficients="ordinary" if name == sys.argv[1] else "modal").at()
a = pairs(MAPS[name].domain, 3)[0].reshape(3, -1)
compiled = torch.compile(lambda x: operator(x))
assert torch.allclose(compiled(a), operator(a), atol=1e-10)
x = a.clone().requires_grad_()
compiled(x).sum().backward()
assert torch.allclose(x.grad, operator.vjp(a, torch.ones_like(operator(a))), atol=1e-10)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, "fourier 3", "multiplicative", "modal fourier 0", "modal local 0"])
def test_a_compiled_operator_agrees(name):
    """By itself: checks of shapes, which tests have on, are not for compilers."""
    result = subprocess.run([sys.executable, "-c", COMPILED, name], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
