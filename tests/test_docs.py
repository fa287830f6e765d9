"""Every example in the documentation runs, and every file it names is there."""

import re
import shlex
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parent.parent
FIRST = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/start").glob("*.md"))]
"""What newcomers run: tested each time. Other pages are tested with the slow tests, and by `make docs`."""
SITE = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in page.parts and "generated" not in page.parts]
PAGES = [*FIRST, *(page for page in SITE if page not in FIRST)]


def blocks(language):
    """The examples of each page, one after another, as a reader would run them."""
    found = {page: re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL) for page in PAGES}
    return [pytest.param("\n".join(codes), id=str(page.relative_to(ROOT))) for page, codes in found.items() if codes]


def smaller(code):
    """Commands for twenty pairs and features where there are hundreds."""
    return re.sub(r"(--n|--features) \d{3,}", r"\1 20", code)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code, tmp_path):
    code, _, err = processes.start(processes.program, code, folder=tmp_path).ended()
    assert code == 0, err


@pytest.mark.parametrize("of_size", [smaller, pytest.param(str, id="as written", marks=pytest.mark.slow)])
@pytest.mark.parametrize("code", blocks("bash"))
def test_shell_examples_run(code, of_size, tmp_path):
    """One after another, in one process."""
    lines = [words for line in of_size(code).splitlines() if (words := shlex.split(line, comments=True))]
    commands = [words for words in lines if words[0] == "raffia"]
    for words in lines:
        if words not in commands:
            assert words[0] == "make"
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    code, _, err = processes.start(processes.commands, commands, folder=tmp_path).ended()
    assert code == 0, err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_named_files_exist(page):
    text = page.read_text()
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    links = [f"../../examples/{link.rpartition('/')[2]}.py" if "gallery/plot_" in link else link for link in links]
    files = [name for name in re.findall(r"`([\w/]+\.py)`", text) if "/" in name]
    assert [link for link in links if link != "gallery/index" and not (page.parent / link).exists()] == []
    assert [name for name in files if not (ROOT / name).exists() and not (ROOT / "src/raffia" / name).exists()] == []
