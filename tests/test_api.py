"""The public names are those that docs/api.md lists, and they load without delay."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import raffia
from raffia.cli.console import COMMANDS, FILES

PAGE = (Path(__file__).parent.parent / "docs/api.md").read_text()
SECTIONS = {part.split("\n")[0]: part.split("\n", 1)[1] for part in PAGE.split("\n## ")[1:]}


def listed(text):
    """Names that have a page, on a line of their own, and names in code spans."""
    return set(re.findall(r"(?<=^   )\w+$|(?<=`)\w+(?=`)", text, flags=re.MULTILINE))


def test_the_page_lists_the_names_of_raffia():
    assert listed(SECTIONS["`raffia`"]) == set(raffia.__all__)
    assert all(getattr(raffia, name) is not None for name in raffia.__all__)
    assert len(raffia.__all__) <= 24


@pytest.mark.parametrize(
    "room", ["features", "problems", "solvers", "constraints", "inverse", "plotting", "metrics", "measures"]
)
def test_the_page_lists_the_names_of_a_room(room):
    assert listed(SECTIONS[f"`raffia.{room}`"]) == set(import_module(f"raffia.{room}").__all__)


def test_every_name_on_the_page_exists():
    for title, text in SECTIONS.items():
        rooms = [import_module(name) for name in re.findall(r"`(raffia[\w.]*)`", title)]
        assert {name for name in listed(text) if not any(hasattr(room, name) for room in rooms)} == set()


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="Fourrier"):
        raffia.Fourrier  # noqa: B018


def test_importing_raffia_and_asking_for_help_import_nothing_heavy():
    script = "import sys, raffia, raffia.cli; print(sorted({'torch', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_help_can_be_imported(command):
    module = import_module(f"raffia.cli.{FILES.get(command, command)}")
    assert hasattr(module, command) or hasattr(module, f"{command}s")


def test_names_of_rooms_are_found_in_raffia_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"raffia\.problems\.Scenario"):
        assert raffia.Scenario is raffia.problems.Scenario
