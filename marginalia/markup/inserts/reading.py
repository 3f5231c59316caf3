"""Functions that find the inserts in clean HTML, check and render them, and report errors."""

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

# Maximum number of inserts in body text, including invalid inserts. Rendering an insert takes about 0.2 ms.
MAX_INSERTS = 200


@dataclass(frozen=True)
class Fault:
    """An error in an insert, to be shown to editors. `line` is the line number in the text, or 0 if unknown."""

    line: int
    text: str

    def __str__(self) -> str:
        return _("Line %(line)d: %(text)s") % {"line": self.line, "text": self.text} if self.line else self.text


@dataclass(frozen=True)
class UnknownInsert(Fault):
    """An insert whose name isn't registered.

    The text isn't rejected, because the app that provides the insert may be installed again.
    """

    name: str = ""


def may_have_inserts(text: str) -> bool:
    """Return whether `text`, as typed, may contain inserts.

    If it can't, the text doesn't have to be rendered to look for inserts.
    """
    return "::" in text or "data-insert" in text


class TextInserts:
    """The inserts in one piece of clean HTML. Each insert is parsed only once."""

    def __init__(self, html: str) -> None:
        self.html = html

    @cached_property
    def _entries(self) -> list[Insert | Fault]:
        entries: list[Insert | Fault] = []
        counts: Counter[str] = Counter()

        def read(placeholder: Placeholder, _content: str) -> str:
            entries.append(_read(placeholder, counts))
            return ""

        inserts.resolve_inserts(self.html, read)
        return entries

    @property
    def faults(self) -> list[Fault]:
        """The errors, including unknown names, in the order in which they occur in the text.

        If there are too many inserts, the last error reports this.
        """
        faults = sorted((entry for entry in self._entries if isinstance(entry, Fault)), key=lambda fault: fault.line)
        return faults[: MAX_INSERTS + 1]

    @property
    def references(self) -> References:
        """The nodes and photos that the inserts use."""
        references = References()
        for entry in self._valid:
            references |= entry.references()
        return references

    @property
    def names(self) -> frozenset[str]:
        """The names of the inserts in the text, including unknown names."""
        return frozenset(entry.name for entry in self._entries if isinstance(entry, Insert | UnknownInsert))

    @property
    def iframe_origins(self) -> frozenset[str]:
        """The origins that the inserts can load in iframes."""
        return frozenset().union(*(entry.iframe_origins() for entry in self._valid))

    @property
    def _valid(self) -> list[Insert]:
        return [entry for entry in self._entries if isinstance(entry, Insert)]

    def render(self, site: Site, *, is_feed: bool = False, faults: bool = False) -> str:
        """Return the text with its inserts as readers see them. If `faults` is true, errors are also shown."""
        context = Context(site, self.html, is_feed=is_feed)
        entries = iter(self._entries)
        left = MAX_INSERTS + 1 if faults else 0

        def show(_placeholder: Placeholder, content: str) -> str:
            nonlocal left
            entry = next(entries)
            if isinstance(entry, Insert):
                return entry.as_html(replace(context, content=SafeString(content)))
            left -= 1
            message = format_html('<p class="insert-fault" role="note">{}</p>', str(entry)) if left >= 0 else ""
            return message + content

        return inserts.resolve_inserts(self.html, show)

    def plain(self) -> str:
        """Return the text as HTML in which plain text replaces each insert, for search and excerpts."""
        entries = iter(self._entries)

        def words(_placeholder: Placeholder, content: str) -> str:
            entry = next(entries)
            words_of_insert = entry.plain() if isinstance(entry, Insert) else ""
            return (f"<p>{escape(words_of_insert)}</p>" if words_of_insert else "") + content

        return inserts.resolve_inserts(self.html, words)


def _read(placeholder: Placeholder, counts: Counter[str]) -> Insert | Fault:
    line = placeholder.line
    directive = placeholder.source
    counts[""] += 1
    if counts[""] > MAX_INSERTS:
        return Fault(line, _("This text has too many inserts. Use at most %(most)d.") % {"most": MAX_INSERTS})
    if placeholder.fault:
        return Fault(line, _misplaced_message(placeholder))
    try:
        name, attributes = directives.parse(directive)
    except ValueError as error:
        return Fault(line, _("This can't be read: “%(text)s”. Write attributes as name=value.") % {"text": error})
    insert_class = base.find_insert(name)
    if insert_class is None:
        return UnknownInsert(
            line, _("The insert “%(name)s” doesn't exist, so readers see nothing here.") % {"name": name}, name
        )
    for attribute in attributes:
        if attribute not in insert_class.base_fields:
            message = {"name": name, "attribute": attribute, "known": ", ".join(insert_class.base_fields) or "–"}
            return Fault(line, _("“%(name)s” has no attribute “%(attribute)s”. Use one of: %(known)s.") % message)
    counts[name] += 1
    if counts[name] > insert_class.most:
        return Fault(
            line, _("Use “%(name)s” at most %(most)d times per page.") % {"name": name, "most": insert_class.most}
        )
    bound = base.bind_insert(insert_class, attributes)
    for attribute, reasons in bound.errors.items():
        where = f"“{name}”" if attribute == NON_FIELD_ERRORS else f"“{name}”, {attribute}"
        return Fault(line, f"{where}: {' '.join(reasons)}")
    return bound


def _misplaced_message(placeholder: Placeholder) -> str:
    match placeholder.fault:
        case "closes nothing":
            return _("This “:::” doesn't close anything. Remove it, or add a line with “:::” and a name above it.")
        case "too deep":
            return _("“:::%(name)s” is nested too deeply. Move it out of the other inserts.") % {
                "name": placeholder.source
            }
    return _("“:::%(name)s” isn't closed. Add a line with “:::” after it.") % {"name": placeholder.source}
