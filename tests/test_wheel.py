"""The wheel holds every file that the package reads, and the mark that its types are public."""

from importlib import resources
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
FILES = {
    str(file.relative_to(ROOT / "src"))
    for file in (ROOT / "src/raffia").rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}


def test_the_package_has_its_templates_pages_and_types():
    assert {"raffia/py.typed", "raffia/pages.html", "raffia/serve/assets/index.html"} <= FILES
    installed = Path(str(resources.files("raffia"))).parent
    assert [name for name in sorted(FILES) if not (installed / name).is_file()] == []


def test_a_wheel_holds_every_file_of_the_package_and_nothing_else(tmp_path):
    wheels = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the wheel")
    (wheel,) = wheels.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == FILES
