"""The public names of `raffia` itself, each with the room that defines it."""

from raffia import metrics as metrics
from raffia.data import Dataset as Dataset
from raffia.data import read as read
from raffia.errors import RaffiaError as RaffiaError
from raffia.features import FeatureMap as FeatureMap
from raffia.features import FourierFeatures as FourierFeatures
from raffia.features import LocalFeatures as LocalFeatures
from raffia.features import PredictorCorrectorFeatures as PredictorCorrectorFeatures
from raffia.features import ScalarFeatures as ScalarFeatures
from raffia.measures import GaussianField as GaussianField
from raffia.model import RandomFeatureModel as RandomFeatureModel
from raffia.model import load as load
from raffia.problems import Burgers as Burgers
from raffia.problems import Darcy as Darcy
from raffia.spaces import Channels as Channels
from raffia.spaces import Domain as Domain
from raffia.spaces import Grid as Grid
from raffia.spaces import Mesh as Mesh
from raffia.spaces import Vectors as Vectors
from raffia.spaces import resample as resample
from raffia.surrogate import Surrogate as Surrogate
from raffia.surrogate import fit as fit
