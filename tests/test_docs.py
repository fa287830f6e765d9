"""Every example in the documentation runs, and every file it names is there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIRST = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/start").glob("*.md"))]
"""What newcomers run: tested each time. Other pages are tested with the slow tests, and by `make docs`."""
SITE = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in page.parts and "generated" not in page.parts]
PAGES = [*FIRST, *(page for page in SITE if page not in FIRST)]


def blocks(language):
    """The examples of each page, one after another, as a reader would run them."""
    rows = []
    for page in PAGES:
        codes = re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)
        if codes:
            marks = () if page in FIRST else (pytest.mark.slow,)
            rows.append(pytest.param("\n".join(codes), id=str(page.relative_to(ROOT)), marks=marks))
    return rows


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(code)
    result = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


COMMANDS = """
import json, sys
from raffia import cli
for sys.argv in json.load(sys.stdin):
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"{sys.argv} ended with {stop.code}")
"""


@pytest.mark.parametrize("code", blocks("bash"))
def test_shell_examples_run(code, tmp_path):
    """One after another, in one process: importing torch for each would take most of the time."""
    lines = [words for line in code.splitlines() if (words := shlex.split(line, comments=True))]
    commands = [words for words in lines if words[0] == "raffia"]
    for words in lines:
        if words not in commands:
            assert words[0] == "make"
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    told = {"input": json.dumps(commands), "capture_output": True, "text": True}
    result = subprocess.run([sys.executable, "-c", COMMANDS], cwd=tmp_path, **told)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_named_files_exist(page):
    text = page.read_text()
    links = [target.partition("#")[0] for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    links = [f"../../examples/{link.rpartition('/')[2]}.py" if "gallery/plot_" in link else link for link in links]
    files = [name for name in re.findall(r"`([\w/]+\.py)`", text) if "/" in name]
    assert [link for link in links if link != "gallery/index" and not (page.parent / link).exists()] == []
    assert [name for name in files if not (ROOT / name).exists() and not (ROOT / "src/raffia" / name).exists()] == []
