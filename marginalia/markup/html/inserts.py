"""Inserts in clean HTML: Markdown directives, stored as <div data-insert="…"> and rendered when the text is shown.

The element contains the directive, which is parsed in the same way as in Markdown. Typing the element as HTML has the
same effect as the directive, so there is nothing to gain by forging it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from marginalia.markup.tags import attributes, quote

Fault = Literal["", "closes nothing", "not closed", "too deep"]

END_TAG: Final = "</div>"
FAULTS: Final = frozenset(get_args(Fault))
# Maximum nesting depth of inserts. Deeper inserts show only their content.
MAX_DEPTH: Final = 8

_DIVISION: Final = re.compile(r"<div((?: [^<>]*)?)>|</div>")
_MARK: Final = ' data-insert="'


@dataclass(frozen=True)
class Placeholder:
    """A placeholder for an insert. The author controls all its fields, so don't trust them.

    Attributes:
        source: The directive, for `directives.parse`.
        line: The directive's line number in the text, or 0 if unknown.
        fault: Why the directive is misplaced, or "" if it isn't.
    """

    source: str
    line: int = 0
    fault: str = ""


def start_tag(spelled: str, line: int, fault: Fault = "") -> str:
    """Return the start tag of a placeholder."""
    fault_attribute = f' data-fault="{fault}"' if fault else ""
    return f'<div data-insert="{quote(spelled)}" data-line="{line}"{fault_attribute}>'


Resolver = Callable[[Placeholder, str], str]


def has_inserts(html: str) -> bool:
    """Return whether the clean `html` may contain inserts."""
    return _MARK in html


def resolve_inserts(html: str, resolver: Resolver) -> str:
    """Replace each insert in the clean `html`, innermost first, with the result of `resolver(placeholder, content)`.

    Pass only HTML from `marginalia.markup.html.clean` or `marginalia.markup.markdown.render`. The result of `resolver`
    is inserted unescaped, so it must be trusted HTML.
    """
    if not has_inserts(html):
        return html
    # The placeholder of each open insert, with the HTML written so far. Other <div> elements are written to the insert
    # that contains them.
    open_inserts: list[tuple[Placeholder, list[str]]] = []
    divisions: list[bool] = []
    written: list[str] = []
    position = 0
    for match in _DIVISION.finditer(html):
        target = open_inserts[-1][1] if open_inserts else written
        target.append(html[position : match.start()])
        position = match.end()
        if match[1] is None:
            if divisions and divisions.pop():
                placeholder, inside = open_inserts.pop()
                outer = open_inserts[-1][1] if open_inserts else written
                outer.append(resolver(placeholder, "".join(inside)))
            else:
                target.append(match[0])
        elif _MARK in match[1] and len(open_inserts) < MAX_DEPTH:
            divisions.append(True)
            open_inserts.append((_placeholder(match[1]), []))
        else:
            divisions.append(False)
            target.append("<div>" if _MARK in match[1] else match[0])
    written.append(html[position:])
    return "".join(written)


def _placeholder(text: str) -> Placeholder:
    values = attributes(text)
    line = values.get("data-line", "")
    return Placeholder(
        values.get("data-insert", ""), int(line) if line.isdecimal() else 0, values.get("data-fault", "")
    )
