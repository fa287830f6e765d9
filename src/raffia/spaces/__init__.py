"""Function spaces: domains, grids, meshes, channels, vectors, Laplacian eigenfunctions, resampling."""

from raffia.spaces.base import Nodes, Space, bytes_of, digest_of
from raffia.spaces.carry import carry
from raffia.spaces.grid import POINT, Domain, Grid
from raffia.spaces.laplacian import Boundary, LaplacianBasis
from raffia.spaces.mesh import Mesh
from raffia.spaces.resample import resample
from raffia.spaces.vectors import ChannelGrid, Channels, Vectors

__all__ = [
    "POINT", "Boundary", "ChannelGrid", "Channels", "Domain", "Grid", "LaplacianBasis", "Mesh", "Nodes", "Space", "Vectors",
    "bytes_of", "carry", "digest_of", "resample",
]  # fmt: skip
