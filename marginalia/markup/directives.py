"""Directives: lines of Markdown that insert something, such as `::gallery{section=node:…}` or `:::note` … `:::`.

A leaf directive begins with two colons. A container begins with three or more colons, and contains the text up to a
line that has only colons.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

MAX_LENGTH: Final = 2_000  # characters per directive

# Matches a line of a Markdown block, from its first non-space character to its end.
_LINE: Final = re.compile(r"(:{2,})(?:[ \t]*([a-z][a-z0-9-]{0,39})[ \t]*(\{.*)?)?[ \t]*")
_DIRECTIVE: Final = re.compile(r"([a-z][a-z0-9-]{0,39})(?:\{(.*)\})?[ \t]*", re.DOTALL)
_ATTRIBUTE: Final = re.compile(
    r"""[ \t]*+([a-z][a-z0-9_-]{0,39})=("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^\s"'{}]++)(?=[ \t]|\Z)"""
)
_ESCAPED: Final = re.compile(r"\\(.)")
_PLAIN: Final = re.compile(r"[^\s\"'{}\\]+")
_CODE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_INDENT: Final = re.compile(r" {0,3}(?=:)")


class Line(NamedTuple):
    """A directive line. `source` consists of the name and the attributes, or is "" for the end of a container."""

    source: str
    is_container: bool


def parse_line(text: str) -> Line | None:
    """Parse an unindented line as a directive. Return None if the line isn't a directive."""
    if not text.startswith("::") or len(text) > MAX_LENGTH or not (match := _LINE.fullmatch(text)):
        return None
    colons = match[1]
    name = match[2]
    attributes = match[3]
    if name is None:
        return Line("", is_container=True) if len(colons) > 2 else None
    if len(colons) == 2 and text[2] in " \t":
        return None
    return Line(name + (attributes or "").rstrip(), len(colons) > 2)


def parse(spelled: str) -> tuple[str, dict[str, str]]:
    """Return the name and the attributes of a directive such as `gallery{section=node:… count=6}`.

    Values with spaces are in single or double quotation marks, in which a backslash escapes the next character.

    Raises:
        ValueError: The syntax is invalid, or an attribute is repeated. The message is the part that couldn't be parsed.
    """
    match = _DIRECTIVE.fullmatch(spelled) if len(spelled) <= MAX_LENGTH else None
    if not match:
        raise ValueError(spelled[:100])
    rest = (match[2] or "").rstrip()
    attributes: dict[str, str] = {}
    position = 0
    while position < len(rest):
        pair = _ATTRIBUTE.match(rest, position)
        if not pair or pair[1] in attributes:
            raise ValueError(rest[position : position + 100].strip())
        value = pair[2]
        attributes[pair[1]] = _ESCAPED.sub(r"\1", value[1:-1]) if value[0] in "\"'" else value
        position = pair.end()
    return match[1], attributes


def to_markdown(name: str, attributes: Mapping[str, object], content: str | None = None) -> str:
    """Return a directive that `parse_line` and `parse` can read. With `content`, the directive is a container."""
    spelled = format_directive(name, attributes)
    return f"::{spelled}" if content is None else f":::{spelled}\n{content}\n:::"


def format_directive(name: str, attributes: Mapping[str, object]) -> str:
    """Return `name` and `attributes` in the syntax that `parse` reads."""
    pairs = " ".join(f"{key}={_quote_value(str(value))}" for key, value in attributes.items())
    return f"{name}{{{pairs}}}" if pairs else name


def _quote_value(value: str) -> str:
    value = " ".join(value.split())
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Fences(NamedTuple):
    """Spans of characters that a merge must not split, and whether all containers are closed.

    The spans are the outermost closed containers, and the code blocks that contain container syntax.
    """

    spans: tuple[tuple[int, int], ...]
    is_balanced: bool


def find_fences(text: str) -> Fences:
    """Return the spans of the Markdown `text` that a merge must not split.

    Containers inside lists and quotations are ignored, because merges compare only whole lines.
    """
    if ":::" not in text:
        return Fences((), is_balanced=True)
    open_starts: list[int] = []
    spans: list[tuple[int, int]] = []
    code = ""
    code_from = 0
    shows_container = False
    position = 0
    has_stray_end = False
    for text_line in text.split("\n"):
        line_start = position
        position = position + len(text_line) + 1
        marker = _CODE.match(text_line)
        if marker and not code:
            code = marker[1] if "`" not in marker[2] or marker[1][0] == "~" else ""
            code_from = line_start
            shows_container = False
        elif marker and marker[1].startswith(code) and not marker[2].strip():
            code = ""
            if shows_container:
                spans.append((code_from, line_start + len(text_line)))
        elif (
            (indent := _INDENT.match(text_line))
            and (line := parse_line(text_line[indent.end() :]))
            and line.is_container
        ):
            if code:
                shows_container = True
            elif line.source:
                open_starts.append(line_start)
            elif open_starts:
                start = open_starts.pop()
                # Only outermost containers are returned, so drop the containers inside this one.
                while spans and spans[-1][0] > start:
                    spans.pop()
                spans.append((start, line_start + len(text_line)))
            else:
                has_stray_end = True
    return Fences(tuple(spans), is_balanced=not open_starts and not has_stray_end)
