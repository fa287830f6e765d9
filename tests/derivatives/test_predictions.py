"""Predictions have derivatives: forwards, backwards, twice and batched."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import jvp, vjp, vmap

from tests.derivatives.cases import MODELS, pairs

CHECKS = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-4}
QUICK = [name for i, name in enumerate(MODELS) if i % 9 == 0 or name in ("stacked", "pruned")]


def inputs(model, n=2):
    return pairs(model.feature_map.domain, n, seed=7)[0]


def normal(like, seed=1):
    return torch.randn(like.shape, dtype=like.dtype, generator=torch.Generator().manual_seed(seed))


def check(model, fast):
    a = inputs(model)
    assert gradcheck(model.predict, a.clone().requires_grad_(), check_forward_ad=True, fast_mode=fast, **CHECKS)
    assert gradgradcheck(model.predict, a.clone().requires_grad_(), fast_mode=fast, **CHECKS)
    values, back = vjp(model.predict, a)
    s, v = normal(values), normal(a, 2)
    tangent = jvp(model.predict, (a,), (v,))[1]
    size = float(tangent.norm() * s.norm())
    assert abs(float((s * tangent).sum() - (back(s)[0] * v).sum())) <= 1e-10 * size
    batched = vmap(lambda one: model.predict(one[None])[0])(a)
    assert torch.allclose(batched, model.predict(a), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", QUICK)
def test_predictions_have_two_derivatives_the_tangent_is_the_adjoint_of_the_gradient_and_batches_agree(name):
    check(MODELS[name](), fast=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_every_model_have_two_derivatives_in_every_entry(name):
    check(MODELS[name](), fast=False)
