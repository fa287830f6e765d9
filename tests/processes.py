"""Processes that begin with raffia imported: copies of one that waits, which start at once, where an import takes seconds."""

import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.data.bombs", "raffia.cli"])
NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Running:
    """A process, and the files that take its output."""

    process: multiprocessing.Process
    out: Path
    err: Path

    def first_line(self):
        """Wait for it."""
        while not (text := self.out.read_text() if self.out.exists() else "").endswith("\n"):
            assert self.process.exitcode is None, self.err.read_text()
            time.sleep(0.005)
        return text.splitlines()[0]

    def ended(self, seconds=300):
        """Wait for its exit code; give it with what it wrote to stdout and stderr."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.process.kill()
            raise TimeoutError(f"no end after {seconds} s")
        return self.process.exitcode, self.out.read_text(), self.err.read_text()


def start(function, *arguments, folder, ignored=()):
    """A process that calls a function of a module, in a folder; signals are as in a terminal, but for those to be ignored."""
    out, err = folder.parent / f"{folder.name}.stdout", folder.parent / f"{folder.name}.stderr"
    process = CONTEXT.Process(target=_child, args=(function, arguments, folder, out, err, ignored))
    process.start()
    return Running(process, out, err)


def _child(function, arguments, folder, out, err, ignored):
    os.chdir(folder)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, NEW), number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    function(*arguments)


def program(code, *words):
    """Run a program as `python example.py` does."""
    sys.argv = ["example.py", *map(str, words)]
    exec(compile(code, "example.py", "exec"), {"__name__": "__main__"})


def commands(lines):
    """Run commands of raffia, one after another, until one fails."""
    from raffia import cli

    for sys.argv in lines:
        try:
            cli.main()
        except SystemExit as stop:
            if stop.code:
                raise
