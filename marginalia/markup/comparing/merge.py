"""Three-way merge of text, paragraph by paragraph.

The algorithm is based on diff3 (S. Khanna, K. Kunal, B. Pierce, "A formal investigation of diff3", FSTTCS 2007). Both
versions are compared with their common base. Changes that only one side made are accepted. If both sides changed the
same text in different ways, there is a conflict. This merge differs from diff3 in four ways:

- Changes conflict only if they affect the same paragraph. Two neighbouring paragraphs can be changed independently.
- Paragraphs are compared without the empty lines around them. Empty lines are merged separately and never conflict.
- If several consecutive paragraphs changed, they are first matched by their words, so that conflicts are small.
- A container (`marginalia.markup.directives`) and its contents count as one paragraph, so no merge splits a container.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from marginalia.markup.characters import normalize_newlines
from marginalia.markup.comparing.diff import match_paragraphs
from marginalia.markup.comparing.sequences import Budget, regions
from marginalia.markup.directives import find_fences

Kind = Literal["stable", "mine", "theirs", "both", "conflict"]
Side = Literal["base", "mine", "theirs", "both"]

_GAP: Final = re.compile(r"(\n(?:[ \t]*\n)+)")
_LEAD: Final = re.compile(r"(?:[ \t]*\n)*")
_USUAL_GAP: Final = "\n\n"
# Maximum number of steps for comparing one side with the base. Only text with about 10,000 very different paragraphs
# reaches this limit.
STEPS: Final = 120_000


@dataclass(frozen=True)
class Chunk:
    """Paragraphs that are merged together.

    Attributes:
        kind: "stable" if neither side changed them, "mine" or "theirs" if one side did, "both" if both sides made the
            same change, and "conflict" if they made different changes.
        base: The text in the base, or "" if the base has no such text. The same applies to `mine` and `theirs`.
        text: The merged text, or None for a conflict.
        gap: The empty lines after the chunk, if another chunk follows.
    """

    kind: Kind
    base: str
    mine: str
    theirs: str
    text: str | None
    gap: str


@dataclass(frozen=True)
class Merged:
    """The result of a merge: the chunks in order, the white space around them, and the number of steps used."""

    chunks: tuple[Chunk, ...]
    lead: str = ""
    tail: str = ""
    steps: int = 0

    @property
    def conflicts(self) -> int:
        """The number of conflicts that an editor has to resolve."""
        return sum(chunk.kind == "conflict" for chunk in self.chunks)

    @property
    def text(self) -> str | None:
        """The merged text, or None if there are conflicts."""
        return None if self.conflicts else resolve(self, ())


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge `mine` and `theirs`, which both derive from `base`, paragraph by paragraph. Line breaks become LF.

    Swapping `mine` and `theirs` only swaps the sides of the result. Each paragraph that a side added to `base` is in a
    chunk of the result. Comparisons take a limited number of steps. Text beyond that limit counts as changed, and
    becomes one conflict if both sides changed it.
    """
    texts = [_Text.of(text) for text in (base, mine, theirs)]
    budgets = Budget(STEPS), Budget(STEPS)
    chunks = tuple(_chunks(*texts, budgets=budgets))
    lead = _merge_space(*(text.lead for text in texts))
    tail = _merge_space(*(text.tail for text in texts))
    return Merged(chunks, lead, tail, 2 * STEPS - sum(budget.steps for budget in budgets))


def resolve(merged: Merged, picks: Sequence[Side]) -> str:
    """Return the merged text, with each conflict resolved as specified in `picks`.

    Args:
        merged: The result of `merge`.
        picks: The side to use for each conflict, in order. "both" means mine followed by theirs.

    Raises:
        ValueError: The number of picks differs from the number of conflicts.
    """
    if len(picks) != merged.conflicts:
        raise ValueError(f"{merged.conflicts} conflicts, but {len(picks)} picks")
    waiting = iter(picks)
    parts: list[str] = []
    gap = ""
    for chunk in merged.chunks:
        chosen = chunk.text if chunk.text is not None else _pick_side(chunk, next(waiting))
        if chosen:
            parts += [gap, chosen]
            gap = chunk.gap
    return "".join([merged.lead, *parts, merged.tail])


def _pick_side(chunk: Chunk, pick: Side) -> str:
    if pick == "both":
        return _USUAL_GAP.join(part for part in (chunk.mine, chunk.theirs) if part)
    return {"base": chunk.base, "mine": chunk.mine, "theirs": chunk.theirs}[pick]


class _Text(NamedTuple):
    """Text that is split into paragraphs. `gaps` contains the text after each paragraph, or None after the last one."""

    lead: str
    paragraphs: list[str]
    gaps: list[str | None]
    tail: str

    @classmethod
    def of(cls, text: str) -> "_Text":
        text = normalize_newlines(text)
        body = text.rstrip(" \t\n")
        found = _LEAD.match(body)
        lead = found[0] if found and body else ""
        parts = _GAP.split(body[len(lead) :]) if body else []
        if spans := find_fences(body[len(lead) :]).spans:
            parts = _join_spans(parts, spans)
        return cls(lead, parts[::2], [*parts[1::2], *([None] if parts else [])], text[len(body) :])


def _join_spans(parts: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return `parts`, which alternate between paragraphs and gaps, with the parts inside each span joined.

    `spans` contains character positions. The parts inside a span become one paragraph.
    """
    joined: list[str] = []
    waiting = iter(spans)
    start, end = next(waiting)
    at = 0
    for number, part in enumerate(parts):
        while end <= at:
            start, end = next(waiting, (sys.maxsize, sys.maxsize))
        if number and start < at:
            joined[-1] += part
        else:
            joined.append(part)
        at += len(part)
    return joined


class _Edit(NamedTuple):
    """An edit that replaces paragraphs `start` to `end` of the base with paragraphs `first` to `last` of one side."""

    start: int
    end: int
    first: int
    last: int


class _Cluster(NamedTuple):
    """Edits from both sides that affect the same paragraphs of the base."""

    start: int
    end: int
    mine: list[_Edit]
    theirs: list[_Edit]


def _edits(base: Sequence[str], side: Sequence[str], budget: Budget) -> Iterator[_Edit]:
    """Yield the edits of `side` in order. Edits are as small as the paragraph matching allows."""
    for (start, end, first, last), equal in regions(base, side, budget):
        if equal:
            continue
        olds = base[start:end]
        news = side[first:last]
        at_old = start
        at_new = first
        for i, j in [*match_paragraphs(olds, news, budget), (len(olds), len(news))]:
            if at_old < start + i or at_new < first + j:
                yield _Edit(at_old, start + i, at_new, first + j)
            at_old = start + i + 1
            at_new = first + j + 1
            if i < len(olds):
                yield _Edit(at_old - 1, at_old, at_new - 1, at_new)


def _edits_conflict(one: _Edit, other: _Edit) -> bool:
    """Return whether edits from the two sides conflict.

    They conflict if there is no obvious order in which to apply both.
    """
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    if one.start == one.end or other.start == other.end:
        point, edit = (one.start, other) if one.start == one.end else (other.start, one)
        # If an edit has more paragraphs than it replaces, one of them may have been inserted at the start or end of the
        # range. An insertion by the other side at the same point then conflicts with the edit.
        grown = edit.last - edit.first > edit.end - edit.start
        return edit.start < point < edit.end or (grown and edit.start <= point <= edit.end)
    return max(one.start, other.start) < min(one.end, other.end)


def _clusters(mine: Iterable[_Edit], theirs: Iterable[_Edit]) -> Iterator[_Cluster]:
    """Yield clusters of conflicting edits, in the order in which they occur in the base."""
    waiting = [*((edit, True) for edit in mine), *((edit, False) for edit in theirs)]
    waiting.sort(key=lambda entry: entry[0])
    cluster: list[tuple[_Edit, bool]] = []
    sides: dict[bool, list[_Edit]] = {True: [], False: []}
    for edit, is_mine in waiting:
        if cluster and not any(_edits_conflict(edit, known) for known in _within_reach(edit, sides[not is_mine])):
            yield _make_cluster(cluster)
            cluster = []
            sides = {True: [], False: []}
        cluster.append((edit, is_mine))
        sides[is_mine].append(edit)
    if cluster:
        yield _make_cluster(cluster)


def _within_reach(edit: _Edit, others: Sequence[_Edit]) -> Iterator[_Edit]:
    """Yield the edits in `others` that end at or after the start of `edit`.

    No edit in `others` may start later than `edit`. The edits of each side are in order and don't overlap, so the
    function yields only a few edits.
    """
    for other in reversed(others):
        if other.end < edit.start:
            return
        yield other


def _make_cluster(entries: Sequence[tuple[_Edit, bool]]) -> _Cluster:
    return _Cluster(
        min(edit.start for edit, _ in entries),
        max(edit.end for edit, _ in entries),
        [edit for edit, is_mine in entries if is_mine],
        [edit for edit, is_mine in entries if not is_mine],
    )


def _chunks(base: _Text, mine: _Text, theirs: _Text, *, budgets: tuple[Budget, Budget]) -> Iterator[Chunk]:
    """Yield the chunks of the merge, which are clusters of edits and the common paragraphs between them."""
    at = at_mine = at_theirs = 0
    ends = _Cluster(len(base.paragraphs), len(base.paragraphs), [], [])
    clusters = _clusters(
        _edits(base.paragraphs, mine.paragraphs, budgets[0]), _edits(base.paragraphs, theirs.paragraphs, budgets[1])
    )
    for cluster in [*clusters, ends]:
        common = cluster.start - at
        if common:
            spans = (at, cluster.start), (at_mine, at_mine + common), (at_theirs, at_theirs + common)
            yield _stable_chunk(base, mine, theirs, spans)
        size = cluster.end - cluster.start
        mine_end = (
            at_mine + common + size + sum(edit.last - edit.first - edit.end + edit.start for edit in cluster.mine)
        )
        theirs_end = (
            at_theirs + common + size + sum(edit.last - edit.first - edit.end + edit.start for edit in cluster.theirs)
        )
        if cluster.mine or cluster.theirs:
            spans = (cluster.start, cluster.end), (at_mine + common, mine_end), (at_theirs + common, theirs_end)
            yield _changed_chunk(base, mine, theirs, spans, cluster)
        at = cluster.end
        at_mine = mine_end
        at_theirs = theirs_end


_Spans = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


def _stable_chunk(base: _Text, mine: _Text, theirs: _Text, spans: _Spans) -> Chunk:
    """Return a chunk of paragraphs that are equal in all versions. The empty lines between them can differ."""
    cuts = _slice_versions(base, mine, theirs, spans)
    gaps = [_merge_gap(*each) for each in zip(*(cut.gaps for cut in cuts), strict=True)]
    before, ours, others = (_join_paragraphs(cut.paragraphs, cut.gaps) for cut in cuts)
    return Chunk("stable", before, ours, others, _join_paragraphs(cuts[0].paragraphs, gaps), gaps[-1])


def _changed_chunk(base: _Text, mine: _Text, theirs: _Text, spans: _Spans, cluster: _Cluster) -> Chunk:
    cuts = _slice_versions(base, mine, theirs, spans)
    before, ours, others = (_join_paragraphs(cut.paragraphs, cut.gaps) for cut in cuts)
    gap = _merge_gap(*(cut.gaps[-1] if cut.gaps else None for cut in cuts))
    if not cluster.theirs:
        return Chunk("mine", before, ours, others, ours, gap)
    if not cluster.mine:
        return Chunk("theirs", before, ours, others, others, gap)
    if cuts[1].paragraphs != cuts[2].paragraphs:
        return Chunk("conflict", before, ours, others, None, gap)
    gaps = [_merge_gap(None, *each) for each in zip(cuts[1].gaps, cuts[2].gaps, strict=True)]
    return Chunk("both", before, ours, others, _join_paragraphs(cuts[1].paragraphs, gaps), gap)


def _slice_versions(base: _Text, mine: _Text, theirs: _Text, spans: _Spans) -> list[_Text]:
    """Return the part of each version that is inside the version's span."""
    parts = zip((base, mine, theirs), spans, strict=True)
    return [_Text("", text.paragraphs[start:end], text.gaps[start:end], "") for text, (start, end) in parts]


def _join_paragraphs(paragraphs: Sequence[str], gaps: Sequence[str | None]) -> str:
    parts = []
    for paragraph, gap in zip(paragraphs, gaps, strict=True):
        parts += [paragraph, gap or _USUAL_GAP]
    return "".join(parts[:-1])


def _merge_gap(base: str | None, mine: str | None, theirs: str | None) -> str:
    """Return the merged empty lines after a paragraph. None means that the paragraph is the last one in its version."""
    if mine is None or theirs is None:
        return mine or theirs or base or _USUAL_GAP
    return _merge_space(base, mine, theirs)


def _merge_space(base: str | None, mine: str, theirs: str) -> str:
    """Return the white space of the side that changed it. If both sides changed it, return the longer white space."""
    if mine == theirs or theirs == base:
        return mine
    return theirs if mine == base else max(mine, theirs, key=lambda space: (len(space), space))
