"""Speed of assembly and prediction against a plain matrix product and inverse FFTs timed in the same run.

    python benchmarks/assembly.py [--device cuda]

"of GEMM" is the rate at which the flops of the full square 2·n·K·m² are delivered, relative to torch.addmm in float64 on the
same machine at the same time; the triangle saves half of them, so more than 100 % is possible.
"""

import argparse
import time

import torch

from raffia import Domain, FourierFeatures, GaussianField, RandomFeatureModel
from raffia.features.base import tile_elements
from raffia.regression import NormalEquations


def clock(work, device, repeats=3):
    best = float("inf")
    for _ in range(repeats):
        if device == "cuda":
            torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begun)
    return best


def gemm_seconds(n, K, m, device):
    rows = 8192
    A = torch.randn(m, rows, dtype=torch.float64, device=device)
    C = torch.zeros(m, m, dtype=torch.float64, device=device)
    return clock(lambda: C.addmm_(A, A.T), device) * n * K / rows


def measure(n, m, K, device):
    features, grid = FourierFeatures(), Domain(1).grid(K)
    a = GaussianField().sample(n, grid, seed=0).to(device)
    model = RandomFeatureModel(features, m, ridge=1e-6)
    stream, tile = model.settings.stream(a, grid, grid), tile_elements(a.device)
    gemm = gemm_seconds(n, K, m, device)
    assembly = clock(lambda: NormalEquations.assemble(stream, a, a), device)
    model.fit(a[:8], a[:8])
    predict = clock(lambda: model.predict(a), device)
    modes = torch.randn(max(1, tile // K), K // 2 + 1, dtype=torch.complex128, device=device)
    inverse = clock(lambda: torch.fft.irfft(modes, n=K, norm="forward"), device, 10) * n * m / len(modes)
    return gemm, assembly, gemm / assembly, predict, inverse, predict / inverse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    print(f"float64 on {device}, {torch.get_num_threads()} threads")
    print("    n      m     K   GEMM s  assemble s  of GEMM  predict s  irfft s  ratio")
    for n, m, K in ((512, 1024, 128), (512, 1024, 1024), (64, 4096, 128)):
        row = measure(n, m, K, device)
        print(f"{n:5} {m:6} {K:5} " + "{:8.3f} {:11.3f} {:8.0%} {:10.3f} {:8.3f} {:6.2f}".format(*row))


if __name__ == "__main__":
    main()
