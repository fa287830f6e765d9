"""raffia serve: trained models for other programs, and a page to try them."""

from pathlib import Path
from typing import Annotated

import typer

from raffia.cli.console import app, console
from raffia.errors import RaffiaError
from raffia.model import load
from raffia.serve import Exhibit, Served, Server
from raffia.validation import check_device


@app.command()
def serve(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Files written by fit, each served by its name, or NAME=FILE.")
    ],
    host: Annotated[
        str, typer.Option(help="Where to listen; 0.0.0.0 lets everybody in who reaches this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 4242,
    page: Annotated[bool, typer.Option("--page", help="Also serve a page to try the models in a browser.")] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --page: a file of pairs to compare with, best of such that training did not see; again for each model."
        ),
    ] = None,
    limit: Annotated[float, typer.Option(min=0.001, help="Megabytes that a request may have.")] = 32.0,
    device: Annotated[str | None, typer.Option(help="Where to compute: cpu or cuda.")] = None,
) -> None:
    """Serve models to other programs over HTTP, by the protocol UM-Bridge 1.0: values, gradients, Jacobians, Hessians.

    Requests that come at the same time are computed together. The config {"grid": 256} asks for another grid than that of the training.

    Example: raffia serve model.safetensors --page --data test.npz
    """
    if device is not None:
        check_device(device)
    served = _loaded(models, device)
    for model in served.values():
        console.print(model.in_words, soft_wrap=True)
    shown = _page(served, data or []) if page or data else None
    words = "serving at {}" if shown is None else "serving at {}, where a browser shows a page to try them"
    server = Server(models=served, host=host, port=port, page=shown, largest=round(limit * 1e6))
    number = server.run(lambda url: console.print(words.format(url), soft_wrap=True))
    raise SystemExit(128 + number)


def _page(models: dict[str, Served], data: list[Path]) -> dict[str, Exhibit]:
    if len(data) > len(models):
        raise RaffiaError(f"--data is one file for each model, in their order; got {len(data)} for {len(models)}.")
    pairs = {name: models[name].model.trained_.file_schema.pairs(file) for name, file in zip(models, data, strict=False)}
    return {name: Exhibit(one, pairs.get(name)) for name, one in models.items()}


def _loaded(given: list[str], device: str | None) -> dict[str, Served]:
    """Models by name: that of the file, unless another is given."""
    served: dict[str, Served] = {}
    for words in given:
        name, file = ("", words) if Path(words).exists() else words.split("=", 1) if "=" in words else ("", words)
        name = name or Path(file).stem
        if name in served:
            raise RaffiaError(f"two models are called {name!r}: name one of them, as in other={file}.")
        served[name] = Served(name, load(file, device=device))
    return served
