"""XML that is not believed: without document types, so that no entity makes much of little, and with few elements, not deeply nested."""

from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from raffia.errors import RaffiaError

DEEPEST, MOST_ELEMENTS = 32, 2**17


def tree(path: Path, text: bytes) -> Element:
    """The root of a text in XML."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.buffer_text = True
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise RaffiaError(
                f"{path} has more than {MOST_ELEMENTS} elements of XML, or {DEEPEST} in one another. Write it in several files."
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise RaffiaError(
            f"{path} has a document type, which may define anything; no such file needs one. Remove <!DOCTYPE …>."
        )

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text, True)
    return builder.close()
