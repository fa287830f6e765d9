"""Reading and writing datasets: arrays in files of many formats, what they mean, and pairs of functions from them."""

from raffia.data.dataset import Array as Array
from raffia.data.dataset import Batch as Batch
from raffia.data.dataset import Dataset as Dataset
from raffia.data.dataset import InMemory as InMemory
from raffia.data.dataset import Pairs as Pairs
from raffia.data.dataset import Part as Part
from raffia.data.dataset import Readable as Readable
from raffia.data.dataset import elements_of as elements_of
from raffia.data.opening import labels_in as labels_in
from raffia.data.opening import open_source as open_source
from raffia.data.opening import read as read
from raffia.data.options import ReadingOptions as ReadingOptions
from raffia.data.own import write as write
from raffia.data.own import write_trajectories as write_trajectories
from raffia.data.readers import Layout as Layout
from raffia.data.readers import Variable as Variable
from raffia.data.readers import variables as variables
from raffia.data.schema import ArrayLayout as ArrayLayout
from raffia.data.schema import AxisLabel as AxisLabel
from raffia.data.schema import SideSchema as SideSchema
from raffia.data.source import Schema as Schema
from raffia.data.source import Source as Source
from raffia.data.source import schema_for as schema_for
from raffia.data.trajectories import Along as Along
from raffia.data.trajectories import Steps as Steps
