"""What all tests share: shapes in signatures are checked, and small data and models are made once."""

import os

from tests import shapes

shapes.install()

import pytest  # noqa: E402
import torch  # noqa: E402

from raffia import Burgers, Dataset, FourierFeatures, RandomFeatureModel  # noqa: E402

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # workers share the cores
    os.environ["OMP_NUM_THREADS"] = "1"  # and so do the commands they run


@pytest.fixture(scope="session")
def burgers() -> Dataset:
    """Forty pairs on 64 points, quick to make."""
    return Burgers(fine_points=256).dataset(40, points=64, seed=3)


@pytest.fixture(scope="session")
def small_model(burgers: Dataset) -> RandomFeatureModel:
    return RandomFeatureModel(FourierFeatures(n_modes=32), n_features=48, ridge=1e-6, random_state=1).fit(burgers.a, burgers.y)


@pytest.fixture(
    params=["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]
)
def device(request: pytest.FixtureRequest) -> str:
    return request.param
