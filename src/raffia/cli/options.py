"""The options of the commands that say how a file is read: one for each field of `ReadingOptions`."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any

import typer

from raffia.data import ReadingOptions


def reading(*names: str, **help_of: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of `ReadingOptions`, in place of its parameter `options`.

    Parameters
    ----------
    *names
        The fields that the command has; all, where none is named.
    **help_of
        Texts of the help in place of those of the fields.
    """
    offered = [one for one in fields(ReadingOptions) if not names or one.name in names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.annotation is not ReadingOptions:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            for one in offered:
                kind, least = one.metadata["kind"], one.metadata.get("min")
                option = typer.Option(one.metadata["flag"], help=help_of.get(one.name, one.metadata["help"]), min=least)
                annotation: Any = Annotated[kind if one.default is not None else kind | None, option]
                parameters.append(
                    inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=annotation)
                )

        @wraps(command)
        def run(**values: Any) -> None:
            given = {one.name: values.pop(one.name) for one in offered}
            command(options=ReadingOptions(**given), **values)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate
