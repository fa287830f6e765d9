"""Peak memory and time of a matrix-free fit: Burgers, n = 512, K = 128, m = 20,000, whose Gram matrix would be 3.2 GB.

python benchmarks/matrix_free.py [m]
"""

import resource
import sys
import time

from raffia import Burgers, FourierFeatures, RandomFeatureModel
from raffia.solvers import NystromPCG


def main():
    m = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    problem = Burgers()
    train, test = problem.dataset(512, 128, seed=0), problem.dataset(200, 128, seed=1)
    model = RandomFeatureModel(FourierFeatures(), m, ridge=1e-6, solver=NystromPCG(matrix_free=True, rtol=1e-6))
    begun = time.perf_counter()
    model.fit(*train)
    spent = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    solution = model.solution_
    print(f"m={m}: {spent:.0f} s, {solution.n_iter} iterations, residual {solution.residual:.1e}, peak {peak:.2f} GiB in all")
    print(f"test error {-model.score(*test):.4f}")


if __name__ == "__main__":
    main()
