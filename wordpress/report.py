"""The report of an import: what the export contained, what was written, and notes that a person should check."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy

__all__ = ["Report"]

STATES = {
    "published": ngettext_lazy("%(n)d published", "%(n)d published", "n"),
    "scheduled": ngettext_lazy("%(n)d scheduled", "%(n)d scheduled", "n"),
    "draft": ngettext_lazy("%(n)d draft", "%(n)d drafts", "n"),
    "private": ngettext_lazy("%(n)d private", "%(n)d private", "n"),
}
POSTS = ngettext_lazy("%(n)d post", "%(n)d posts", "n")
PAGES = ngettext_lazy("%(n)d page", "%(n)d pages", "n")
COMMENTS = ngettext_lazy("%(n)d comment", "%(n)d comments", "n")
COMMENT_STATES = {
    "pending": ngettext_lazy("%(n)d pending", "%(n)d pending", "n"),
    "spam": ngettext_lazy("%(n)d spam", "%(n)d spam", "n"),
    "trash": ngettext_lazy("%(n)d in the trash", "%(n)d in the trash", "n"),
}
# The kinds of objects that an import writes, in the order of the report.
WRITTEN = {
    "section": ngettext_lazy("%(n)d section", "%(n)d sections", "n"),
    "page": PAGES,
    "post": POSTS,
    "comment": COMMENTS,
    "queued comment": ngettext_lazy("%(n)d queued comment", "%(n)d queued comments", "n"),
    "photo": ngettext_lazy("%(n)d photo", "%(n)d photos", "n"),
    "completed page": ngettext_lazy("%(n)d completed page", "%(n)d completed pages", "n"),
    "completed post": ngettext_lazy("%(n)d completed post", "%(n)d completed posts", "n"),
    "converted page": ngettext_lazy("%(n)d converted page", "%(n)d converted pages", "n"),
    "converted post": ngettext_lazy("%(n)d converted post", "%(n)d converted posts", "n"),
}
# Maximum number of lines shown under each heading, unless all lines are requested.
MAX_LINES = 50


@dataclass(slots=True)
class Report:
    """Counts of what the export contained and of what was written, and notes about problems and decisions."""

    posts: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    # How many posts and pages were protected with a password on the old site.
    protected: Counter[str] = field(default_factory=Counter)
    comments: Counter[str] = field(default_factory=Counter)
    pings: int = 0
    public_comments: int = 0
    replies: int = 0
    found: int = 0
    missing: list[str] = field(default_factory=list)
    downloaded: int = 0
    downloaded_bytes: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    notes: dict[str, dict[str, int]] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    @property
    def problem(self) -> str:
        """A sentence about the posts and pages that could not be imported, or ""."""
        if not self.failed:
            return ""
        text = ngettext(
            "%(n)d of the posts and pages could not be imported.",
            "%(n)d of the posts and pages could not be imported.",
            self.failed,
        )
        return text % {"n": self.failed}

    def note(self, heading: str, text: str) -> None:
        """Add a line under `heading`. If the same line has already been added, only count it."""
        lines = self.notes.setdefault(heading, {})
        lines[text] = lines.get(text, 0) + 1

    def lines(self, *, everything: bool = False) -> Iterator[str]:
        """Yield the lines of the report.

        Notes come first, because the counts at the end should remain visible on the screen.
        """
        notes = {heading: list(_with_counts(lines)) for heading, lines in self.notes.items()}
        if self.missing:
            notes[_("Attachments missing")] = self.missing
        for heading, lines in notes.items():
            yield f"{heading}:"
            shown = lines if everything else lines[:MAX_LINES]
            yield from (f"  {line}" for line in shown)
            if len(lines) > len(shown):
                yield "  " + _("… and %(n)d more (--verbosity 2 lists them)") % {"n": len(lines) - len(shown)}
        yield _states_line(self.posts, self.protected["post"], POSTS)
        yield _states_line(self.pages, self.protected["page"], PAGES)
        yield self._comments()
        missing = ngettext("%(n)d attachment missing", "%(n)d attachments missing", len(self.missing))
        found = ngettext("%(n)d found", "%(n)d found", self.found)
        yield f"{missing % {'n': len(self.missing)}}, {found % {'n': self.found}}"
        if self.downloaded:
            text = ngettext("%(n)d picture downloaded", "%(n)d pictures downloaded", self.downloaded)
            yield f"{text % {'n': self.downloaded}}, {self.downloaded_bytes / 1_000_000:.1f} MB"
        if self.left_out:
            names = ", ".join(f"{number} {name}" for name, number in sorted(self.left_out.items()))
            yield _("Left out: %(names)s") % {"names": names}
        total = self.written.total()
        changes = ngettext("%(n)d change", "%(n)d changes", total) % {"n": total}
        kinds = ", ".join(label % {"n": self.written[name]} for name, label in WRITTEN.items() if self.written[name])
        yield f"{changes}: {kinds}" if kinds else changes

    def _comments(self) -> str:
        line = COMMENTS % {"n": self.comments.total()}
        parts = []
        if approved := self.comments["approved"]:
            parts.append(ngettext("%(n)d approved", "%(n)d approved", approved) % {"n": approved})
            if self.pings:
                parts[-1] += ", " + _("among them %(n)d pingbacks and trackbacks") % {"n": self.pings}
            parts[-1] += ", " + _("%(n)d of them public") % {"n": self.public_comments}
        parts += [label % {"n": self.comments[name]} for name, label in COMMENT_STATES.items() if self.comments[name]]
        if self.replies:
            parts.append(ngettext("%(n)d reply", "%(n)d replies", self.replies) % {"n": self.replies})
        return f"{line} ({'; '.join(parts)})" if parts else line


def _states_line(states: Counter[str], protected: int, names: Any) -> str:
    line = str(names % {"n": states.total()})
    parts = []
    for state, label in STATES.items():
        if states[state]:
            parts.append(label % {"n": states[state]})
        if states[state] and state == "published" and protected:
            parts[-1] += ", " + _("of them %(n)d password-protected and kept private") % {"n": protected}
    plain = set(states) <= {"published"} and not protected
    return line if plain else f"{line} ({'; '.join(parts)})"


def _with_counts(lines: dict[str, int]) -> Iterator[str]:
    return (
        line if number == 1 else _("%(line)s (%(n)d times)") % {"line": line, "n": number}
        for line, number in lines.items()
    )
