"""The report of an import: what the export contained, what was written, and notes that a person should check."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Report"]

STATES = ("published", "scheduled", "draft", "private")
# The kinds of objects that an import writes, in the order of the report.
WRITTEN = (
    *("section", "page", "post", "comment", "queued comment", "photo"),
    *("completed page", "completed post", "converted page", "converted post"),
)
PLURALS = {"draft": "drafts"}
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
            notes["Attachments missing"] = self.missing
        for heading, lines in notes.items():
            yield f"{heading}:"
            shown = lines if everything else lines[:MAX_LINES]
            yield from (f"  {line}" for line in shown)
            if len(lines) > len(shown):
                yield f"  … and {len(lines) - len(shown)} more (--verbosity 2 lists them)"
        yield _states_line(self.posts, self.protected["post"], "post")
        yield _states_line(self.pages, self.protected["page"], "page")
        yield self._comments()
        yield f"{_count_of(len(self.missing), 'attachment')} missing, {self.found} found"
        if self.downloaded:
            yield f"{_count_of(self.downloaded, 'picture')} downloaded, {self.downloaded_bytes / 1_000_000:.1f} MB"
        if self.left_out:
            yield "Left out: " + ", ".join(f"{number} {name}" for name, number in sorted(self.left_out.items()))
        changes = ", ".join(_count_of(self.written[name], name) for name in WRITTEN if self.written[name])
        yield f"{_count_of(self.written.total(), 'change')}{': ' + changes if changes else ''}"

    def _comments(self) -> str:
        line = _count_of(self.comments.total(), "comment")
        parts = []
        if self.comments["approved"]:
            pings = f", among them {self.pings} pingbacks and trackbacks" if self.pings else ""
            parts.append(f"{self.comments['approved']} approved{pings}, {self.public_comments} of them public")
        parts += [f"{self.comments[name]} {name}" for name in ("pending", "spam", "trash") if self.comments[name]]
        if self.replies:
            parts.append(f"{self.replies} replies" if self.replies > 1 else "1 reply")
        return f"{line} ({'; '.join(parts)})" if parts else line


def _states_line(states: Counter[str], protected: int, name: str) -> str:
    line = _count_of(states.total(), name)
    parts = []
    for state in STATES:
        if states[state]:
            more = ""
            if state == "published" and protected:
                more = f", of them {protected} password-protected and kept private"
            parts.append(f"{states[state]} {state if states[state] == 1 else PLURALS.get(state, state)}{more}")
    plain = set(states) <= {"published"} and not protected
    return line if plain else f"{line} ({'; '.join(parts)})"


def _with_counts(lines: dict[str, int]) -> Iterator[str]:
    return (line if number == 1 else f"{line} ({number} times)" for line, number in lines.items())


def _count_of(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
