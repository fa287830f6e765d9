"""Function spaces: domains, grids, meshes, channels, vectors, Laplacian eigenfunctions, resampling."""

from raffia.spaces.axes import KINDS, Boundary
from raffia.spaces.base import Nodes, Space, bytes_of, digest_of
from raffia.spaces.grid import POINT, Domain, Grid
from raffia.spaces.laplacian import LaplacianBasis
from raffia.spaces.mesh import Mesh
from raffia.spaces.modes import BoxWaves, Components, Modes, Waves, modes_of
from raffia.spaces.resample import interpolate, interpolation_error, resample
from raffia.spaces.vectors import ChannelGrid, Channels, Vectors
