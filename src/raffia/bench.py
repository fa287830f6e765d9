"""Times of assembly, solution, prediction and tuning, compared with limits of the machine measured in the same run."""

import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from raffia.features import FeatureMap, FourierFeatures, PredictorCorrectorFeatures
from raffia.measures import GaussianField
from raffia.model import RandomFeatureModel
from raffia.problems import Darcy
from raffia.regression import Cholesky, NormalEquations
from raffia.spaces import Domain
from raffia.tuning import GradientSearch


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement. `ceiling` is the time that the least work would take at the rate measured in this run."""

    what: str
    sizes: str
    seconds: float
    rate: str
    ceiling: str
    fraction: float
    """Ceiling over time: 1 is the limit; more is possible where a triangle saves half of the work."""
    peak_memory: int
    """Bytes, of the GPU, or of the process so far."""


KINDS = {"GEMM": ("gemm", 1, "FLOP"), "inverse FFT": ("fft", 1, "numbers"), "copy": ("copy", 16, "numbers")}
"""What the least work consists of: the ceiling, how much one of its units takes of that, and the unit."""


class Bench:
    """Measurements on one device; `quick` takes small sizes."""

    def __init__(self, device: str = "cpu", quick: bool = False) -> None:
        self.device, self.quick = torch.device(device), quick
        self.ceilings = self._ceilings()

    def rows(self) -> list[Row]:
        """Measure all cases and return their rows."""
        rows = []
        for n, m, points in [(64, 128, 64)] if self.quick else [(512, 1024, 128), (512, 1024, 1024)]:
            a = GaussianField(n_modes=min(1022, points - 2)).sample(n, Domain(1).grid(points), seed=0).to(self.device)
            rows += self._model("Burgers", FourierFeatures(), m, a, "inverse FFT")
        r, n, m = (17, 16, 32) if self.quick else (65, 500 if self.device.type == "cuda" else 64, 512)
        problem = Darcy(fine_points=r)
        a = problem.input_measure.sample(n, problem.domain.grid(r), seed=0).to(self.device)
        return [*rows, *self._model("Darcy", PredictorCorrectorFeatures(), m, a, "copy"), self._tune()]

    def report(self) -> dict[str, Any]:
        """What a JSON file keeps: the machine, its ceilings and every row."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else f"{torch.get_num_threads()} threads"
        machine = {"device": str(self.device), "name": name, "torch": torch.__version__, "date": time.strftime("%Y-%m-%d")}
        return machine | {"ceilings": self.ceilings, "rows": [asdict(row) for row in self.rows()]}

    def _model(self, label: str, features: FeatureMap, m: int, a: Tensor, predict: str) -> list[Row]:
        """Measure assembly, solution and prediction of one model; `predict` names the operation that prediction consists of."""
        grid = Domain(a.ndim - 1, periodic=a.ndim == 2).grid_of(a)
        sizes = f"n={len(a)} m={m} grid={'×'.join(map(str, grid.shape))}"
        model = RandomFeatureModel(features, m, ridge=1e-6)
        stream = model.settings.stream(a, grid, grid)
        flops = 2 * len(a) * grid.size * m**2
        rows = [self._row(f"{label}: assemble", sizes, lambda: NormalEquations.assemble(stream, a, a), ("GEMM", flops))]
        equations = NormalEquations.assemble(stream, a, a)
        rows.append(self._row(f"{label}: solve", f"m={m}", lambda: Cholesky().solve(equations, 1e-6), ("GEMM", m**3 // 3)))
        model.fit(a[:8], a[:8])
        values = grid.size * (m if predict == "inverse FFT" else 1)
        rows.append(self._row(f"{label}: predict", sizes, lambda: model.predict(a), (predict, len(a) * values)))
        return [*rows, self._row(f"{label}: predict one", sizes, lambda: model.predict(a[:1]), (predict, values))]

    def _tune(self) -> Row:
        n, m, points, steps = (32, 64, 64, 2) if self.quick else (512, 1024, 128, 20)
        a = GaussianField(n_modes=points - 2).sample(n, Domain(1).grid(points), seed=0).to(self.device)
        model, search = RandomFeatureModel(FourierFeatures(), m), GradientSearch(steps, contest_steps=1, screened=0, swept=0)
        flops = 6 * steps * 256**2 * 256 * 64  # forward and backward products of the steps, and no more
        sizes = f"n={n} m={m} grid={points}"
        return replace(self._row(f"tune, {steps} steps", sizes, lambda: model.tune(a, a, search), ("GEMM", flops), 1), rate="")

    def _row(self, what: str, sizes: str, work: Callable[[], object], least: tuple[str, int], repeats: int = 3) -> Row:
        """`least` is the kind of the least work, and how much of it there is."""
        kind, amount = least
        ceiling, each, unit = KINDS[kind]
        fastest = each * amount / self.ceilings[ceiling]
        cuda = self.device.type == "cuda"
        if cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
        seconds = self._clock(work, repeats)
        in_process = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Row(
            what=what,
            sizes=sizes,
            seconds=seconds,
            rate=f"{amount / seconds / 1e9:.3g} G{unit}/s",
            ceiling=f"{kind} {fastest:.3g} s",
            fraction=fastest / seconds,
            peak_memory=torch.cuda.max_memory_allocated(self.device) if cuda else in_process,
        )

    def _clock(self, work: Callable[[], object], repeats: int = 3) -> float:
        """The best of several, after one to warm up."""
        times = []
        for _ in range(repeats + 1):
            self._wait()
            begun = time.perf_counter()
            work()
            self._wait()
            times.append(time.perf_counter() - begun)
        return min(times[1:])

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _ceilings(self) -> dict[str, float]:
        """Rates a second: flops of a matrix product, bytes of a copy, values of an inverse FFT."""
        side = 512 if self.quick else 2048
        A = torch.ones(side, side, dtype=torch.float64, device=self.device)
        product = torch.empty_like(A)
        big = torch.zeros(2**20 if self.quick else 2**25, dtype=torch.float64, device=self.device)
        other = torch.empty_like(big)
        modes = torch.ones(2**13 if self.device.type == "cpu" else 2**19, 65, dtype=torch.complex128, device=self.device)
        return {
            "gemm": 2 * side**3 / self._clock(lambda: torch.mm(A, A, out=product), 5),
            "copy": 16 * len(big) / self._clock(lambda: other.copy_(big), 5),
            "fft": 128 * len(modes) / self._clock(lambda: torch.fft.irfft(modes, n=128, norm="forward"), 5),
        }
