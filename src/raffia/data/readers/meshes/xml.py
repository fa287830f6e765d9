"""XML that is not believed: without entities, which make much of little, and with few elements, not deeply nested."""

from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from raffia.data.readers.damage import guarded
from raffia.errors import RaffiaError

DEEPEST, MOST_ELEMENTS = 32, 2**17


def tree(path: Path, text: bytes) -> Element:
    """The root of a text in XML. A document type is passed over; the file that it may name is never read."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.buffer_text = True
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise RaffiaError(
                f"it has more than {MOST_ELEMENTS} elements of XML, or {DEEPEST} in one another. Write several files."
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise RaffiaError("it defines entities, which may unpack to anything; no such file needs one. Remove <!ENTITY …>.")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.EntityDeclHandler = refuse
    with guarded(path):
        parser.Parse(text, True)
        return builder.close()
