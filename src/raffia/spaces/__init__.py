"""Function spaces: domains, grids, Laplacian eigenfunctions, resampling."""

from raffia.spaces.grid import Domain, Grid
from raffia.spaces.laplacian import Boundary, LaplacianBasis
from raffia.spaces.resample import resample

__all__ = ["Boundary", "Domain", "Grid", "LaplacianBasis", "resample"]
