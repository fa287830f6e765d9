"""Parameters of all problems are checked before anything is drawn, in Python and on the command line."""

import inspect
import math
import sys
from types import NoneType
from typing import Literal, get_args

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError, cli
from raffia.cli.generate import PROBLEMS
from raffia.problems import Advection, AllenCahn, Burgers, Darcy, Evolution, Helmholtz, NavierStokes, Scenario
from raffia.problems.parameters import hints_of

WRONG = {
    "0": 0,
    "-1": -1,
    "0.0": 0.0,
    "2.5": 2.5,
    "nan": math.nan,
    "inf": math.inf,
    "1e400": 1e400,
    "-1e400": -1e400,
    "10**400": 10**400,
    "1e200": 1e200,
    "()": (),
    "(1e-5,)": (1e-5,),
    "(1, 2, 3)": (1, 2, 3),
    "(2.0, 1.0)": (2.0, 1.0),
    "(1e400, 1e400)": (1e400, 1e400),
    "('a', 'b')": ("a", "b"),
    "abc": "abc",
    "''": "",
    "b'a'": b"a",
    "True": True,
    "None": None,
    "1j": 1j,
    "{}": {},
    "[[1]]": [[1]],
}
FINE = {  # wrong for most, and what these parameters may be
    ("-1", "2.5", "0", "0.0"): {"speed", "convection", "quadratic", "growth", "source"},
    ("0", "0.0"): {"feed", "kill", "warm_up", "path"},
    ("2.5",): {
        *("viscosity", "time", "tau", "regularity", "width", "deviation", "step", "low", "high", "feed", "kill", "frequency"),
        *("mean_speed", "dispersion", "warm_up", "variance"),
    },
    ("None",): {"forcing", "step", "source", "deviation"},
    ("()", "(1e-5,)", "(1, 2, 3)", "(2.0, 1.0)"): {"linear"},
    ("(1e-5,)", "(1, 2, 3)"): {"time"},
    ("(1e-5,)",): {"speed"},
    ("(2.0, 1.0)",): {"diffusion"},
    ("1e200",): {
        *("viscosity", "time", "deviation", "step", "width", "speed", "growth", "quadratic", "convection", "source", "high"),
        *("frequency", "mean_speed", "feed", "kill", "dispersion", "variance", "warm_up"),
    },
    ("True",): {"velocity"},
}
NOT_FINE = {  # what is fine elsewhere
    *(("scenario", "time", text) for text in ("2.5", "(1e-5,)")),
    ("scenario", "warm_up", "2.5"),
    ("scenario", "warm_up", "1e200"),
    ("wave", "speed", "-1"),
    ("wave", "speed", "0"),
    ("wave", "speed", "0.0"),
    ("wave", "speed", "(1e-5,)"),
    ("darcy", "source", "None"),
    ("helmholtz", "source", "2.5"),
    ("helmholtz", "source", "0"),
    ("helmholtz", "source", "0.0"),
    ("helmholtz", "source", "-1"),
    ("helmholtz", "source", "1e200"),
    ("darcy", "low", "1e200"),
    *((name, parameter, "None") for name in PROBLEMS for parameter in ("step", "deviation")
      if (name, parameter) not in {("burgers", "step"), ("navier-stokes", "deviation")}),
}  # fmt: skip


def is_wrong(name, parameter, text):
    known = any(text in texts and parameter in parameters for texts, parameters in FINE.items())
    return (name, parameter, text) in NOT_FINE or not known


PARAMETERS = [(name, parameter) for name, kind in PROBLEMS.items() for parameter in kind().get_params(deep=False)]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_wrong_parameters_are_refused_with_their_names(name, parameter):
    for text in (text for text in WRONG if is_wrong(name, parameter, text)):
        problem = PROBLEMS[name]().set_params(**{parameter: WRONG[text]})
        with pytest.raises(RaffiaError, match=f"{parameter}="):
            problem.dataset(1, 4)
        if isinstance(problem, Evolution):
            with pytest.raises(RaffiaError, match=f"{parameter}="):
                problem.trajectories(1, 4, 1, 1.0)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_the_command_line_refuses_them_in_a_line_and_writes_nothing(name, parameter, every, tmp_path, monkeypatch, capsys):
    """Every eighth value of each parameter, from another one on: together all values of every kind of parameter."""
    asked = ["--trajectories", "1"] if issubclass(PROBLEMS[name], Evolution) else ["--n", "1"]
    first = PARAMETERS.index((name, parameter)) % every
    for text in [text for text in WRONG if is_wrong(name, parameter, text)][first::every]:
        written = repr(WRONG[text]) if text == "10**400" else text
        command = ["raffia", "generate", name, *asked, "--points", "4", "--set", f"{parameter}={written}", "-o"]
        monkeypatch.setattr(sys, "argv", [*command, str(tmp_path / "d.npz")])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        assert (stopped.value.code, out) == (2, "")
        assert err.startswith("raffia: ")
        assert parameter in err
        assert err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_nothing_is_drawn_before_parameters_are_checked(monkeypatch):
    monkeypatch.setattr("raffia.measures.noise._uniform", lambda *_: pytest.fail("drawn"))
    for problem in (
        Burgers(viscosity=-1.0),
        Darcy(low=5.0, high=4.0),
        Helmholtz(frequency=-1.0),
        Scenario(time=0.5, warm_up=9),
    ):
        with pytest.raises(RaffiaError):
            problem.dataset(1, 8)
    with pytest.raises(RaffiaError, match=r"whole steps, so trajectories\(dt=…\) must be whole"):
        Scenario(warm_up=9).trajectories(1, 8, 2, 0.5)


def test_every_parameter_says_by_its_annotation_what_it_may_be():
    for kind in PROBLEMS.values():
        for name in kind().get_params(deep=False):
            assert name in hints_of(kind)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: Advection(speed=(1.0, 2.0)).dataset(1, 8), r"speed=…\) must be one number, or 1, one per axis; got \(1\.0, 2\.0\)"),
        (lambda: Darcy(low=5.0, high=4.0).dataset(1, 8), r"low=…\) must be at most high; got low=5\.0 and high=4\.0"),
        (lambda: Darcy(domain=Domain(2)).dataset(1, 8), r"Darcy\(domain=…\) must be a rectangle"),
        (lambda: Helmholtz(domain=Domain(1, periodic=False)).dataset(1, 8), r"Helmholtz\(domain=…\) must be a rectangle"),
        (lambda: AllenCahn(regularity=1.0).dataset(1, 8), "more than 1, half the dimension; got 1"),
        (lambda: AllenCahn(domain=Domain(2, extent=math.inf)).dataset(1, 8), r"domain=…\) must be finite"),
        (lambda: Scenario(cutoff=80).dataset(1, 8), "below half of fine_points"),
        (lambda: Burgers(forcing=torch.full((8,), math.nan)).dataset(1, 8), r"forcing=…\) must be finite"),
        (lambda: Burgers(tau=1e200).dataset(1, 8), "tau=1e.200 and regularity=2.5"),
        (lambda: Darcy(tau=1e200).dataset(1, 8), "tau=1e.200 and regularity=2.0"),
        (lambda: AllenCahn(regularity=400.0).dataset(1, 8), "regularity=400.0"),
        (lambda: AllenCahn(step=1e-320).dataset(1, 8), "AllenCahn would take inf steps"),
        (lambda: Burgers(viscosity=1e-300).dataset(1, 8), "Burgers would take .* steps"),
        (lambda: Burgers().trajectories(1, 8, 50, 1e308), "times steps must be finite"),
        (lambda: Burgers().trajectories(0, 8, 1, 1.0), "n must be a positive count"),
        (lambda: Burgers().trajectories(1, 0, 1, 1.0), "points must be 1 or more; got 0"),
    ],
)  # fmt: skip
def test_impossible_wishes_are_refused(ask, words):
    with pytest.raises(RaffiaError, match=words):
        ask()


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"steps": 2.0}, r"trajectories\(steps=…\) must be a whole number; got 2\.0"),
        ({"steps": True}, r"trajectories\(steps=…\) must be a whole number; got True"),
        ({"dt": "1"}, r"trajectories\(dt=…\) must be a number; got '1'"),
        ({"dt": math.nan}, r"trajectories\(dt=…\) must be positive; got nan"),
        ({"dt": math.inf}, r"trajectories\(dt=…\) must be finite; got inf"),
        ({"points": 32.5}, r"points must be a whole number or a tuple of whole numbers; got 32\.5"),
        ({"points": "32"}, "points must be a whole number or a tuple of whole numbers; got '32'"),
        ({"points": 10**30}, r"points must be at most 2\*\*40"),
        ({"n": 2.0}, r"n must be a positive count or a range of consecutive numbers; got 2\.0"),
    ],
)
def test_what_trajectories_are_asked_for_is_checked(wish, words):
    plain = inspect.unwrap(Evolution.trajectories)  # as it is where types are not checked
    with pytest.raises(RaffiaError, match=words):
        plain(Burgers(), **({"n": 1, "points": 8, "steps": 1, "dt": 1.0} | wish))


def test_numbers_of_numpy_are_numbers():
    problem = Burgers(fine_points=16, viscosity=0.1)
    same = Burgers().set_params(fine_points=16, viscosity=np.float64(0.1))
    assert torch.equal(problem.trajectories(1, 8, 1, 0.1), same.trajectories(1, 8, 1, 0.1))
    assert torch.equal(problem.dataset(1, (8,)).y, problem.dataset(1, 8).y)


def test_names_of_forcings_are_those_of_the_annotation():
    options = [part for part in get_args(hints_of(NavierStokes)["forcing"]) if part is NoneType or get_args(part)]
    assert Literal["diagonal", "kolmogorov"] in options
    assert NoneType in options


# The command line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trajectories", "2", "--dt", "-1"], "--dt must be positive; got -1.0"),
        (["--trajectories", "2", "--dt", "0"], "--dt must be positive; got 0.0"),
        (["--trajectories", "2", "--dt", "nan"], "--dt must be positive; got nan"),
        (["--trajectories", "2", "--dt", "inf"], "--dt must be finite; got inf"),
        (["--dt", "1"], "--steps and --dt are for trajectories. Pass their number too"),
        (["--steps", "3"], "--steps and --dt are for trajectories. Pass their number too"),
        (["--trajectories", "2", "--n", "3"], "--n 3 asks for pairs and --trajectories 2 for trajectories. Pass one of them"),
        (["--set", "viscosity=-1.0"], "--set viscosity: Burgers(viscosity=…) must be positive; got -1.0"),
        (["--time", "inf"], "--time: Burgers(time=…) must be finite; got inf"),
        (["--set", "time={[]: 1}"], "--set time: Burgers(time=…) must be a number or a tuple of numbers; got '{[]: 1}'"),
        (["--set", "fine_points=2"], "--set fine_points: Burgers(fine_points=…) must be 3 or more; got 2"),
    ],
)
def test_options_are_named_as_they_were_typed(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["raffia", "generate", "burgers", "--points", "8", *words, "-o", str(tmp_path / "d.npz")])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert err.startswith(f"raffia: {said}")
    assert list(tmp_path.iterdir()) == []
