"""The inserts of a text: found in its clean HTML, checked, and shown, or what is wrong with them."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from marginalia.markup import directives
from marginalia.markup.html import inserts
from marginalia.markup.html.inserts import Placeholder
from marginalia.markup.inserts import base
from marginalia.markup.inserts.base import Context, Insert, References, Site

# Of a text, with those that are wrong. The time to show one is some 0.2 ms.
MAX_INSERTS = 200


@dataclass(frozen=True)
class Fault:
    """What is wrong with an insert, for editors: at which line of the text, 0 where that is not known."""

    line: int
    text: str

    def __str__(self) -> str:
        return _("Line %(line)d: %(text)s") % {"line": self.line, "text": self.text} if self.line else self.text


@dataclass(frozen=True)
class UnknownInsert(Fault):
    """An insert of a name that is not registered: no reason to refuse a text, as its app may come back."""

    name: str = ""


def may_have_inserts(text: str) -> bool:
    """Return whether a text, as it was typed, may have inserts: others need not be rendered for them."""
    return "::" in text or "data-insert" in text


class TextInserts:
    """The inserts of one clean text, each read once."""

    def __init__(self, html: str) -> None:
        self.html = html

    @cached_property
    def _found(self) -> list[Insert | Fault]:
        found: list[Insert | Fault] = []
        counts: Counter[str] = Counter()

        def read(placeholder: Placeholder, _content: str) -> str:
            found.append(_read(placeholder, counts))
            return ""

        inserts.resolve_inserts(self.html, read)
        return found

    @property
    def faults(self) -> list[Fault]:
        """What is wrong, unknown names included, in the order of the text. The last says where there are too many."""
        found = sorted((one for one in self._found if isinstance(one, Fault)), key=lambda fault: fault.line)
        return found[: MAX_INSERTS + 1]

    @property
    def references(self) -> References:
        """The nodes and photos that inserts use."""
        found = References()
        for one in self._valid:
            found |= one.references()
        return found

    @property
    def names(self) -> frozenset[str]:
        """Which inserts the text has, unknown ones included."""
        return frozenset(one.name for one in self._found if isinstance(one, Insert | UnknownInsert))

    @property
    def iframe_origins(self) -> frozenset[str]:
        """The origins of what inserts may show in frames."""
        return frozenset().union(*(one.iframe_origins() for one in self._valid))

    @property
    def _valid(self) -> list[Insert]:
        return [one for one in self._found if isinstance(one, Insert)]

    def render(self, site: Site, *, is_feed: bool = False, faults: bool = False) -> str:
        """Return the text with its inserts as readers see them; with `faults` also, in their place, what is wrong."""
        context = Context(site, self.html, is_feed=is_feed)
        found = iter(self._found)
        left = MAX_INSERTS + 1 if faults else 0

        def show(_placeholder: Placeholder, content: str) -> str:
            nonlocal left
            one = next(found)
            if isinstance(one, Insert):
                return one.as_html(replace(context, content=SafeString(content)))
            left -= 1
            told = format_html('<p class="insert-fault" role="note">{}</p>', str(one)) if left >= 0 else ""
            return told + content

        return inserts.resolve_inserts(self.html, show)

    def plain(self) -> str:
        """Return the text as HTML in which inserts are the words that they hold, for search and excerpts."""
        found = iter(self._found)

        def words(_placeholder: Placeholder, content: str) -> str:
            one = next(found)
            said = one.plain() if isinstance(one, Insert) else ""
            return (f"<p>{escape(said)}</p>" if said else "") + content

        return inserts.resolve_inserts(self.html, words)


def _read(placeholder: Placeholder, counts: Counter[str]) -> Insert | Fault:
    line = placeholder.line
    spelled = placeholder.source
    counts[""] += 1
    if counts[""] > MAX_INSERTS:
        return Fault(line, _("A text has at most %(most)d inserts.") % {"most": MAX_INSERTS})
    if placeholder.fault:
        return Fault(line, _misplaced_message(placeholder))
    try:
        name, attributes = directives.parse(spelled)
    except ValueError as error:
        return Fault(line, _("This cannot be read: “%(text)s”. Attributes are written name=value.") % {"text": error})
    made = base.find_insert(name)
    if made is None:
        return UnknownInsert(line, _("There is no insert “%(name)s”: readers see nothing here.") % {"name": name}, name)
    for attribute in attributes:
        if attribute not in made.base_fields:
            told = {"name": name, "attribute": attribute, "known": ", ".join(made.base_fields) or "–"}
            return Fault(line, _("“%(name)s” has no attribute “%(attribute)s”; it has: %(known)s.") % told)
    counts[name] += 1
    if counts[name] > made.most:
        return Fault(line, _("A text has “%(name)s” at most %(most)d times.") % {"name": name, "most": made.most})
    bound = base.bind_insert(made, attributes)
    for attribute, reasons in bound.errors.items():
        where = f"“{name}”" if attribute == NON_FIELD_ERRORS else f"“{name}”, {attribute}"
        return Fault(line, f"{where}: {' '.join(reasons)}")
    return bound


def _misplaced_message(placeholder: Placeholder) -> str:
    match placeholder.fault:
        case "closes nothing":
            return _("This “:::” ends nothing: no line before it begins with “:::” and a name.")
        case "too deep":
            return _("“:::%(name)s” stands in too many others.") % {"name": placeholder.source}
    return _("“:::%(name)s” is not ended: a line “:::” is missing.") % {"name": placeholder.source}
