"""Public calls as a user writes them: `make test-wheel` runs them and checks their types against the installed wheel."""

import raffia
from raffia import Dataset, FourierFeatures, RandomFeatureModel, metrics, plotting
from raffia.problems import Burgers


def main(path: str) -> None:
    problem = Burgers(viscosity=0.01, time=1.0, fine_points=256)
    train: Dataset = problem.dataset(40, points=32, seed=0)
    test: Dataset = problem.dataset(20, points=64, seed=1)
    model = RandomFeatureModel(FourierFeatures(n_modes=16), n_features=64, random_state=0).fit(train.a, train.y)
    model.save(path)
    prediction = raffia.load(path).predict(test.a)
    print(metrics.relative_error(test.y, prediction))
    plotting.prediction(test.a[0], test.y[0], prediction[0]).savefig("prediction.png")
    surrogate = raffia.fit(train, effort="quick")
    mean, std = surrogate.model.predict(test.a, return_std=True)
    print(
        float(surrogate.errors.mean()),
        metrics.relative_error(test.y, mean),
        float(std.mean()),
        surrogate.baselines,
        surrogate.notes,
    )


if __name__ == "__main__":
    main("model.safetensors")
