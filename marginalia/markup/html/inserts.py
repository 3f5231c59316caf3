"""Inserts in a text: directives in Markdown, kept as <div data-insert="…">, shown as the site does.

The element says what a directive says and is read by the same rules: written by hand, it does what the directive would. So
texts in HTML have inserts too, and there is nothing to forge.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from marginalia.markup.tags import attributes, quote

Fault = Literal["", "closes nothing", "not closed", "too deep"]

END_TAG: Final = "</div>"
FAULTS: Final = frozenset(get_args(Fault))
# One in another; deeper ones keep what is in them, and show nothing else.
MAX_DEPTH: Final = 8

_DIVISION: Final = re.compile(r"<div((?: [^<>]*)?)>|</div>")
_MARK: Final = ' data-insert="'


@dataclass(frozen=True)
class Placeholder:
    """What stands for an insert: the directive as `directives.parse` reads it, its line in the text or 0, and what is
    wrong with where it stands. Its author typed all of it."""

    source: str
    line: int = 0
    fault: str = ""


def start_tag(spelled: str, line: int, fault: Fault = "") -> str:
    """Return the start tag of a placeholder."""
    told = f' data-fault="{fault}"' if fault else ""
    return f'<div data-insert="{quote(spelled)}" data-line="{line}"{told}>'


Resolver = Callable[[Placeholder, str], str]


def has_inserts(html: str) -> bool:
    """Return whether there may be inserts in clean `html`."""
    return _MARK in html


def resolve_inserts(html: str, resolver: Resolver) -> str:
    """Return clean `html` with each insert replaced by what `resolver` returns for it and for what is in it, innermost first.

    Only hand over what `marginalia.markup.html.clean` or `marginalia.markup.markdown.render` returned: what
    `resolver` returns is put in as it is, so it must be trusted HTML.
    """
    if not has_inserts(html):
        return html
    # Of each open division, its placeholder, if it is one, and what was written in it. Plain ones write into what is around.
    open_inserts: list[tuple[Placeholder, list[str]]] = []
    divisions: list[bool] = []
    written: list[str] = []
    position = 0
    for found in _DIVISION.finditer(html):
        target = open_inserts[-1][1] if open_inserts else written
        target.append(html[position : found.start()])
        position = found.end()
        if found[1] is None:
            if divisions and divisions.pop():
                placeholder, inside = open_inserts.pop()
                outer = open_inserts[-1][1] if open_inserts else written
                outer.append(resolver(placeholder, "".join(inside)))
            else:
                target.append(found[0])
        elif _MARK in found[1] and len(open_inserts) < MAX_DEPTH:
            divisions.append(True)
            open_inserts.append((_placeholder(found[1]), []))
        else:
            divisions.append(False)
            target.append("<div>" if _MARK in found[1] else found[0])
    written.append(html[position:])
    return "".join(written)


def _placeholder(text: str) -> Placeholder:
    said = attributes(text)
    line = said.get("data-line", "")
    return Placeholder(said.get("data-insert", ""), int(line) if line.isdecimal() else 0, said.get("data-fault", ""))
