"""The exact settings behind the experiments of Nelsen & Stuart (SIAM Review, 2024), as data.

Which features go with which problem is a choice, and this is where it is made.
"""

from dataclasses import dataclass, field, replace

from raffia.features import BrownianBridge, FeatureMap, FourierFeatures, PredictorCorrectorFeatures
from raffia.model import RandomFeatureModel
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem


@dataclass(frozen=True)
class Experiment:
    """A problem, the features for it, and the sizes the paper uses."""

    problem: Problem
    feature_map: FeatureMap
    n_samples: int
    n_features: int
    points: int | None
    ridge: float = 0.0
    n_test: int = 4000
    reported: dict[str, float] = field(default_factory=dict)

    def model(self, random_state: int = 0, **changes: object) -> RandomFeatureModel:
        """The untrained model of the experiment."""
        model = RandomFeatureModel(self.feature_map, self.n_features, self.ridge, random_state=random_state)
        return model.set_params(**changes)


BURGERS = Experiment(
    problem=Burgers(viscosity=0.01, time=1.0, tau=7.0, regularity=2.5),
    feature_map=FourierFeatures(tau=5.0, regularity=2.0, delta=0.0025, beta=4.0, amplitude=1024.0, activation="elu"),
    n_samples=512,
    n_features=1024,
    points=128,  # the paper writes K = 129 and counts the repeated end point
    reported={"test error": 0.0310},
)

TIME_UPSCALE = replace(  # tab:time_upscale: trained on the flow over 0.5, composed
    BURGERS,
    problem=Burgers(viscosity=0.01, time=(0.5, 1.0, 1.5, 2.0), tau=7.0, regularity=2.5),
    reported={"T=0.5": 0.0360, "T=1.0": 0.0407, "T=1.5": 0.0528, "T=2.0": 0.0788},
)

DARCY = Experiment(  # tested on 1,000 inputs; 257² points are the finest grid
    problem=Darcy(source=1.0, low=3.0, high=12.0, tau=3.0, regularity=2.0, fine_points=257),
    feature_map=PredictorCorrectorFeatures(tau=7.5, regularity=2.0, s_plus=1 / 12, s_minus=-1 / 3, delta=0.15, eta=1e-4),
    n_samples=500,
    n_features=512,
    points=33,
    ridge=1e-8,
    n_test=1000,
    reported={"test error": 0.0381},
)

BROWNIAN_BRIDGE = Experiment(  # ex:bb and fig:bb_compare, with m = 50, 500, 5000
    problem=BridgeRegression(n_modes=1000),
    feature_map=BrownianBridge(n_modes=1000),
    n_samples=32,
    n_features=5000,
    points=None,
    n_test=1000,
)


@dataclass(frozen=True)
class Sweep:
    """The sizes along which a figure of the paper varies: samples, features, and grids of training and of testing."""

    n: tuple[int, ...]
    m: tuple[int, ...]
    train_points: tuple[int, ...]
    test_points: tuple[int, ...] = ()
    """Empty: tested on the grid of the training."""


# Burgers' equation: fig:gridtranfser_burg, both panels, and fig:gridsweep_burg. A power of two for the paper's K, less the repeated end.
BURGERS_TRANSFER = Sweep(n=(512,), m=(1024,), train_points=(64, 256, 1024), test_points=(16, 32, 64, 128, 256, 512, 1024))
BURGERS_M_AND_N = Sweep(n=(10, 20, 30, 50, 100, 300, 500, 1000), m=(16, 32, 64, 128, 256, 512, 1024), train_points=(128,))
BURGERS_GRIDS = Sweep(n=(512,), m=(256, 512, 1024), train_points=(16, 32, 64, 128, 256, 512, 1024))

# Darcy flow: fig:gridtranfser_darcy (m and n of the stored run; its caption says 512 and 256), and fig:gridsweep_darcy.
DARCY_TRANSFER = Sweep(n=(128,), m=(256,), train_points=(17, 129), test_points=(9, 17, 33, 65, 129, 257))
DARCY_M_AND_N = Sweep(n=(5, 10, 20, 30, 50, 100, 300, 500), m=(8, 16, 32, 64, 128, 256, 512), train_points=(33,))
DARCY_GRIDS = Sweep(n=(128,), m=(64, 128, 256), train_points=(9, 17, 33, 65, 129))

AUTHORS_SEED = 1234321 + 4  # of the data set behind the figures for Burgers' equation
