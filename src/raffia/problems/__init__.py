"""Benchmark problems, one file each."""

from raffia.problems.advection import Advection
from raffia.problems.allen_cahn import AllenCahn
from raffia.problems.base import Problem
from raffia.problems.bridge_regression import BridgeRegression
from raffia.problems.burgers import Burgers
from raffia.problems.darcy import Darcy
from raffia.problems.evolution import Evolution
from raffia.problems.gray_scott import GrayScott
from raffia.problems.helmholtz import Helmholtz
from raffia.problems.korteweg_de_vries import KortewegDeVries
from raffia.problems.kuramoto_sivashinsky import KuramotoSivashinsky
from raffia.problems.navier_stokes import NavierStokes
from raffia.problems.scenario import Scenario
from raffia.problems.swift_hohenberg import SwiftHohenberg
from raffia.problems.vector_burgers import VectorBurgers
from raffia.problems.wave import Wave

__all__ = [
    "Advection", "AllenCahn", "BridgeRegression", "Burgers", "Darcy", "Evolution", "GrayScott", "Helmholtz", "KortewegDeVries",
    "KuramotoSivashinsky", "NavierStokes", "Problem", "Scenario", "SwiftHohenberg", "VectorBurgers", "Wave",
]  # fmt: skip
