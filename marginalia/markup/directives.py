"""Directives: lines of Markdown that put something into a text, such as `::gallery{section=node:…}` or `:::note` … `:::`.

A leaf has two colons. A container has three or more, and what stands up to its end, a line of colons alone, is in it.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

MAX_LENGTH: Final = 2_000  # characters of a directive

# As a block of Markdown, by its first character that is not white space to the end of its line.
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
    """A line that is a directive: `spelled` is its name with its attributes, "" where it ends a container."""

    source: str
    is_container: bool


def parse_line(text: str) -> Line | None:
    """Return the directive that a line, without its indentation, is; None for any other line."""
    if not text.startswith("::") or len(text) > MAX_LENGTH or not (found := _LINE.fullmatch(text)):
        return None
    colons = found[1]
    name = found[2]
    attributes = found[3]
    if name is None:
        return Line("", is_container=True) if len(colons) > 2 else None
    if len(colons) == 2 and text[2] in " \t":
        return None
    return Line(name + (attributes or "").rstrip(), len(colons) > 2)


def parse(spelled: str) -> tuple[str, dict[str, str]]:
    """Return name and attributes of a directive such as `gallery{section=node:… count=6}`.

    Values with spaces stand in quotation marks, single or double, in which a backslash takes the next character as it is.
    Raises ValueError, with what cannot be read, for one that is spelled otherwise or says an attribute twice.
    """
    found = _DIRECTIVE.fullmatch(spelled) if len(spelled) <= MAX_LENGTH else None
    if not found:
        raise ValueError(spelled[:100])
    rest = (found[2] or "").rstrip()
    attributes: dict[str, str] = {}
    at = 0
    while at < len(rest):
        pair = _ATTRIBUTE.match(rest, at)
        if not pair or pair[1] in attributes:
            raise ValueError(rest[at : at + 100].strip())
        value = pair[2]
        attributes[pair[1]] = _ESCAPED.sub(r"\1", value[1:-1]) if value[0] in "\"'" else value
        at = pair.end()
    return found[1], attributes


def to_markdown(name: str, attributes: Mapping[str, object], content: str | None = None) -> str:
    """Return a directive as Markdown, a container where there is `content`, which `parse` reads as it was."""
    spelled = format_directive(name, attributes)
    return f"::{spelled}" if content is None else f":::{spelled}\n{content}\n:::"


def format_directive(name: str, attributes: Mapping[str, object]) -> str:
    """Return name and attributes as `parse` reads them."""
    pairs = " ".join(f"{key}={_quote_value(str(value))}" for key, value in attributes.items())
    return f"{name}{{{pairs}}}" if pairs else name


def _quote_value(value: str) -> str:
    value = " ".join(value.split())
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Fences(NamedTuple):
    """What merging must not take apart, from where to where (in characters): the outermost closed containers of a text, and
    the code blocks that show one. And whether all containers are closed."""

    spans: tuple[tuple[int, int], ...]
    is_balanced: bool


def find_fences(text: str) -> Fences:
    """Return the containers of Markdown `text`.

    Goes by lines alone, as merging does: what stands in lists and quotations is no container here.
    """
    if ":::" not in text:
        return Fences((), is_balanced=True)
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    code = ""
    code_from = 0
    shows_one = False
    at = 0
    stray = False
    for each in text.split("\n"):
        begin = at
        at = at + len(each) + 1
        marker = _CODE.match(each)
        if marker and not code:
            code = marker[1] if "`" not in marker[2] or marker[1][0] == "~" else ""
            code_from = begin
            shows_one = False
        elif marker and marker[1].startswith(code) and not marker[2].strip():
            code = ""
            if shows_one:
                spans.append((code_from, begin + len(each)))
        elif (indent := _INDENT.match(each)) and (found := parse_line(each[indent.end() :])) and found.is_container:
            if code:
                shows_one = True
            elif found.source:
                opened.append(begin)
            elif opened:
                start = opened.pop()
                # What lies in this one is no outermost one.
                while spans and spans[-1][0] > start:
                    spans.pop()
                spans.append((start, begin + len(each)))
            else:
                stray = True
    return Fences(tuple(spans), is_balanced=not opened and not stray)
