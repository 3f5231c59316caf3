"""Three-way merge of text, paragraph by paragraph.

The algorithm is based on diff3 (S. Khanna, K. Kunal, B. Pierce, "A formal investigation of diff3", FSTTCS 2007). Both
versions are compared with their common base. Changes that only one side made are accepted. If both sides changed the
same text in different ways, there is a conflict. This merge differs from diff3 in five ways:

- Changes conflict only if they affect the same paragraph. Two neighbouring paragraphs can be changed independently.
- Paragraphs are compared without the empty lines around them. Empty lines are merged separately and never conflict.
- If the two sides moved a paragraph to different places, there is a conflict in both places.
- If several consecutive paragraphs changed, they are first matched by their words, so that conflicts are small.
- A container (`marginalia.markup.directives`) and its contents count as one paragraph, so no merge splits a container.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal, NamedTuple

from marginalia.markup.characters import normalize_newlines
from marginalia.markup.comparing.diff import match_paragraphs, split_words
from marginalia.markup.comparing.sequences import Budget, regions
from marginalia.markup.directives import find_fences

Kind = Literal["stable", "mine", "theirs", "both", "merged", "conflict"]
Side = Literal["base", "mine", "theirs", "both"]

_GAP: Final = re.compile(r"(\n(?:[ \t]*\n)+)")
_LEAD: Final = re.compile(r"(?:[ \t]*\n)*")
_USUAL_GAP: Final = "\n\n"
# Maximum number of steps for comparing one side with the base. Only text with about 10,000 very different paragraphs
# reaches this limit.
STEPS: Final = 120_000
# Maximum number of steps for combining the words of one conflict.
_WORD_STEPS: Final = 20_000


@dataclass(frozen=True)
class Chunk:
    """Paragraphs that are merged together.

    Attributes:
        kind: "stable" if neither side changed them, "mine" or "theirs" if one side did, "both" if both sides made the
            same change, "conflict" if they made different changes, and "merged" for several chunks without conflicts.
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

    def side(self, pick: Side) -> str:
        """Return the text of one side. "both" means theirs followed by mine."""
        if pick == "both":
            return _USUAL_GAP.join(part for part in (self.theirs, self.mine) if part)
        return {"base": self.base, "mine": self.mine, "theirs": self.theirs}[pick]

    def combined(self) -> str:
        """Return a text with which an editor can start to resolve the conflict by hand.

        It contains the changed words of both sides. If both sides changed the same words, it contains both texts.
        """
        if not (self.mine and self.theirs):
            return self.mine or self.theirs
        return _combine_words(self.base, self.mine, self.theirs) or self.side("both")


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

    def condensed(self, most: int | None = None) -> "Merged":
        """Return the merge with as few chunks as possible, and with at most `most` conflicts.

        Consecutive chunks without conflicts are joined. If there are more conflicts, the last one contains all of the
        text between the remaining conflicts.
        """
        chunks = list(self.chunks)
        places = [place for place, chunk in enumerate(chunks) if chunk.text is None]
        if most is not None and len(places) > most:
            chunks[places[most - 1] : places[-1] + 1] = [_join_chunks(chunks[places[most - 1] : places[-1] + 1])]
        joined: list[Chunk] = []
        for is_conflict, group in groupby(chunks, lambda chunk: chunk.text is None):
            if is_conflict:
                joined += group
            # A chunk without text, such as a deleted paragraph, doesn't affect the merged text.
            elif present := [chunk for chunk in group if chunk.text]:
                joined.append(_join_chunks(present))
        return replace(self, chunks=tuple(joined))


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge `mine` and `theirs`, which both derive from `base`, paragraph by paragraph. Line breaks become LF.

    Swapping `mine` and `theirs` only swaps the sides of the result. Each paragraph that a side added to `base` is in a
    chunk of the result. Comparisons take a limited number of steps. Text beyond that limit counts as changed, and
    becomes one conflict if both sides changed it.
    """
    texts = [_Text.of(text) for text in (base, mine, theirs)]
    budgets = Budget(STEPS), Budget(STEPS)
    chunks = _mark_moves(list(_chunks(*texts, budgets=budgets)), texts)
    lead = _merge_space(*(text.lead for text in texts))
    tail = _merge_space(*(text.tail for text in texts))
    return Merged(chunks, lead, tail, 2 * STEPS - sum(budget.steps for budget in budgets))


def compare(mine: str, theirs: str) -> Merged:
    """Return the differences between two texts without a known base. Each difference is a conflict."""
    merged = merge(theirs, mine, theirs)
    chunks = (
        replace(chunk, kind="conflict", base="", text=None) if chunk.kind == "mine" else chunk
        for chunk in merged.chunks
    )
    return replace(merged, chunks=tuple(chunks))


def resolve(merged: Merged, picks: Sequence[Side]) -> str:
    """Return the merged text, with each conflict resolved as specified in `picks`.

    Args:
        merged: The result of `merge`.
        picks: The side to use for each conflict, in order. "both" means theirs followed by mine.

    Raises:
        ValueError: The number of picks differs from the number of conflicts.
    """
    conflicts = [chunk for chunk in merged.chunks if chunk.text is None]
    if len(picks) != len(conflicts):
        raise ValueError(f"{len(conflicts)} conflicts, but {len(picks)} picks")
    return fill(merged, [chunk.side(pick) for chunk, pick in zip(conflicts, picks, strict=True)])


def fill(merged: Merged, texts: Iterable[str]) -> str:
    """Return the merged text, in which `texts` replace the conflicts, in order. A conflict's text can be empty."""
    waiting = iter(texts)
    chosen = ((next(waiting) if chunk.text is None else chunk.text, chunk.gap) for chunk in merged.chunks)
    return f"{merged.lead}{_join_texts(chosen)}{merged.tail}"


def _join_texts(texts: Iterable[tuple[str, str]]) -> str:
    """Join texts, each with the gap that follows it. Empty texts are omitted, and so is the gap after the last text."""
    parts: list[str] = []
    for text, gap in texts:
        parts += [text, gap] if text else []
    return "".join(parts[:-1])


def _join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Return a chunk with the text of several chunks. It is a conflict if any of these chunks is a conflict."""

    def joined(side: Side) -> str:
        keeps_side = side == "base"
        texts = (chunk.side(side) if keeps_side or chunk.text is None else chunk.text for chunk in chunks)
        return _join_texts(zip(texts, (chunk.gap for chunk in chunks), strict=True))

    base, mine, theirs = joined("base"), joined("mine"), joined("theirs")
    if any(chunk.text is None for chunk in chunks):
        return Chunk("conflict", base, mine, theirs, None, chunks[-1].gap)
    return Chunk("merged", base, mine, theirs, mine, chunks[-1].gap)


def _combine_words(base: str, mine: str, theirs: str) -> str | None:
    """Return `base` with the words that either side changed, or None if there are changes without words in between."""
    words = split_words(base)
    budget = Budget(_WORD_STEPS)
    edits = {
        (region.old_start, region.old_end, "".join(changed[region.new_start : region.new_end]))
        for changed in (split_words(mine), split_words(theirs))
        for region, equal in regions(words, changed, budget)
        if not equal
    }
    parts: list[str] = []
    end = -1
    for start, next_end, text in sorted(edits):
        if start <= end:
            return None
        parts += [*words[max(end, 0) : start], text]
        end = next_end
    return "".join([*parts, *words[max(end, 0) :]])


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


def _mark_moves(chunks: Sequence[Chunk], texts: Iterable[_Text]) -> tuple[Chunk, ...]:
    """Return `chunks`, in which a paragraph that both sides moved, but to different places, is a conflict in both."""
    once = [{part for part, count in Counter(text.paragraphs).items() if count == 1} for text in texts]
    inserted = [_inserted_paragraphs(chunk) for chunk in chunks]
    by_side = (
        {part for chunk, parts in zip(chunks, inserted, strict=True) if chunk.kind == side for part in parts}
        for side in ("mine", "theirs")
    )
    moved = set.intersection(*once, *by_side)
    return tuple(
        replace(chunk, kind="conflict", text=None) if parts & moved else chunk
        for chunk, parts in zip(chunks, inserted, strict=True)
    )


def _inserted_paragraphs(chunk: Chunk) -> set[str]:
    """Return the paragraphs that one side inserted in `chunk`. The set is empty if both sides changed the chunk."""
    if chunk.text is None or chunk.kind not in ("mine", "theirs"):
        return set()
    return set(_Text.of(chunk.text).paragraphs) - set(_Text.of(chunk.base).paragraphs)


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
