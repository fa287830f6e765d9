"""Modes are orthonormal and complete on their grid, and the same functions on others."""

import pytest
import torch

from raffia import Domain, RaffiaError
from raffia.spaces import BoxWaves, Components, Mesh, Waves, modes_of

TORUS = [(7,), (8,), (6, 5), (4, 6), (5, 4, 6)]
BOX = [(7,), (8,), (6, 5)]
AXES = [
    (("periodic", "box"), (6, 5)), (("periodic", "box"), (5, 4)), (("box", "periodic"), (5, 6)), (("cells",), (6,)),
    (("cells", "cells"), (5, 6)), (("left", "left"), (6, 5)), (("right", "periodic"), (6, 4)),
    (("periodic", "cells", "box"), (4, 3, 5)),
]  # fmt: skip


def _functions(shape, n=3):
    return torch.randn(n, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def _cases():
    for shape in TORUS:
        yield Waves(Domain(len(shape), extent=1.7).grid(*shape))
    for shape in BOX:
        for boundary in ("neumann", "dirichlet"):
            yield BoxWaves(Domain(len(shape), periodic=False, extent=1.7).grid(*shape), boundary)
    for axes, shape in AXES:
        for boundary in ("neumann", "dirichlet"):
            yield BoxWaves(Domain(len(shape), extent=1.7, axes=axes).grid(*shape), boundary)


def _zero_at_ends(f, grid):
    """Functions that vanish at the nodes that are ends."""
    for axis, kind in enumerate(grid.domain.kinds, -len(grid.shape)):
        if not kind.periodic:
            for end, gap in ((0, kind.before), (-1, kind.after)):
                f.select(axis, end).mul_(float(gap > 0))
    return f


def _norm(f, modes):
    """With the ends that were left out."""
    grid = modes.grid
    boundaries = grid.domain.boundaries(modes.boundary) if isinstance(modes, BoxWaves) else ("periodic",) * grid.domain.dim
    return grid.with_ends.norm(grid.put_back(f, boundaries))


@pytest.mark.parametrize("modes", list(_cases()), ids=repr)
def test_modes_are_orthonormal_and_complete(modes):
    grid, f = modes.grid, _functions(modes.grid.shape)
    if isinstance(modes, BoxWaves) and modes.boundary == "dirichlet":
        _zero_at_ends(f, grid)
    c = modes.analysis(f, grid)
    torch.testing.assert_close(modes.synthesis(c, grid), f)
    torch.testing.assert_close((modes.twice(grid) * c.abs() ** 2).sum(-1), _norm(f, modes) ** 2)
    if isinstance(modes, Waves) or modes.boundary == "neumann":
        torch.testing.assert_close(_norm(f, modes), grid.norm(f))  # what neighbours get is what ends put back have
    _check_density(modes)


def _check_density(modes):
    """Σ_k power_k |ψ_k|² is what synthesis gives of each mode alone, real and imaginary, squared."""
    grid = modes.grid
    eye = torch.eye(modes.count, dtype=modes.analysis(_functions(grid.shape), grid).dtype)
    power = torch.rand(modes.count, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    if not eye.is_complex():
        expected = (power.reshape(-1, *[1] * len(grid.shape)) * modes.synthesis(eye, grid) ** 2).sum(0)
        torch.testing.assert_close(modes.density(power, grid), expected)
    elif len(grid.shape) == 1:  # no mode stands beside its conjugate
        single = modes.twice(grid) == 1
        size = (modes.synthesis(eye, grid) ** 2 + torch.where(single[:, None], 0, modes.synthesis(1j * eye, grid) ** 2)).mean(
            -1
        )
        size = size / torch.where(single, 1, 2)
        torch.testing.assert_close(modes.density(power, grid), (power * size).sum().expand(grid.shape))


def test_functions_that_vanish_at_the_boundary_have_sines():
    box = Domain(2, periodic=False)
    grid, f = box.grid(5), _functions((5, 5))
    assert modes_of(f, grid).boundary == "neumann"
    for axis in (1, 2):
        f.select(axis, 0).zero_()
        f.select(axis, -1).zero_()
    assert modes_of(f, grid).boundary == "dirichlet"


def test_sines_are_for_the_axes_at_whose_ends_functions_vanish():
    x, y = (torch.linspace(0, 1, 41, dtype=torch.float64)[:-1], torch.linspace(0, 1, 31, dtype=torch.float64))
    channel = Domain(2, axes=("periodic", "box"))
    f = ((2 * torch.pi * x).sin() + 2)[None, :, None] * y * (1 - y)
    assert modes_of(f, channel.grid(40, 31)).boundary == "dirichlet"
    assert modes_of(f + 1, channel.grid(40, 31)).boundary == "neumann"
    rise = y[:-1] * (1 - y[:-1])  # zero at the end that is left out
    left = Domain(2, axes=("left", "box"))
    assert modes_of((rise[:, None] * (1 + y))[None], left.grid(30, 31)).boundary == ("dirichlet", "neumann")
    assert modes_of((y[:-1, None] * (1 + y))[None], left.grid(30, 31)).boundary == "neumann"
    cells = Domain(1, axes="cells").grid(50)
    assert modes_of((torch.pi * cells.axes()[0]).sin()[None], cells).boundary == "dirichlet"
    assert modes_of((torch.pi * cells.axes()[0]).cos()[None], cells).boundary == "neumann"


def test_functions_on_a_mesh_have_principal_components():
    mesh = Mesh(torch.rand(30, 2, generator=torch.Generator().manual_seed(0)))
    f = _functions((30,), n=7)
    modes = modes_of(f, mesh)
    assert isinstance(modes, Components)
    assert modes.count == 7
    torch.testing.assert_close(modes.embedded @ modes.embedded.mT, torch.eye(7, dtype=torch.float64))
    torch.testing.assert_close(modes.synthesis(modes.analysis(f, mesh), mesh), f)
    with pytest.raises(RaffiaError, match="mesh of the training data"):
        modes.analysis(f, Mesh(torch.rand(30, 2)))


@pytest.mark.parametrize(("n", "faulty", "boundary"), [(1000, 2, "dirichlet"), (1000, 100, "neumann"), (5, 1, "neumann")])
@pytest.mark.parametrize("axes", ["box", "cells"])
def test_a_few_faulty_samples_of_many_do_not_decide_the_modes(axes, n, faulty, boundary):
    """Two of a thousand public samples have −0.43 on a boundary where all others have 0; one of five may be a kind of its own."""
    grid = Domain(1, axes=axes).grid(33)
    f = torch.rand(n, 1, dtype=torch.float64) * (torch.pi * grid.axes()[0]).sin()
    f[:faulty, [0, -1]] = -43.0 if axes == "cells" else -0.43
    assert modes_of(f, grid).boundary == boundary
