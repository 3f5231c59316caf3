"""Two versions side by side: paragraphs, or items of lists, that belong together stand in one row."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from marginalia.markup.comparing import diff
from marginalia.markup.comparing.diff import Change
from marginalia.markup.comparing.sequences import Budget, Region, regions

# "left" and "came": a paragraph that stands at another place now.
Kind = Literal["same", "changed", "removed", "added", "left", "came"]

# Paragraphs of one text that get rows of their own; what comes after them is one.
MAX_PARAGRAPHS: Final = 6_000


class Pair(NamedTuple):
    """The indexes of an old part and of the new one that it became; None where there is no such part."""

    old: int | None
    new: int | None
    is_moved: bool = False


@dataclass(frozen=True)
class Row:
    """What stands side by side: the pieces of the old version, and of the new one; none on a side that has nothing there."""

    kind: Kind
    pair: Pair
    old: tuple[Change, ...] = ()
    new: tuple[Change, ...] = ()


def align_texts(old: str, new: str, budget: Budget | None = None) -> list[Row]:
    """Return the paragraphs of two texts as rows, those that changed with their words marked.

    White space between paragraphs is not compared. What the `budget` of comparisons does not reach counts as changed.
    """
    olds, news = (diff.split_paragraphs(text, MAX_PARAGRAPHS) for text in (old, new))
    return align_items(olds, news, budget)


def align_items(olds: Sequence[str], news: Sequence[str], budget: Budget | None = None) -> list[Row]:
    """Return two lists of texts as rows, as `rows` does."""
    budget = budget or Budget()
    found = []
    for pair in align(olds, news, budget, diff.match_paragraphs):
        before = "" if pair.old is None else olds[pair.old]
        after = "" if pair.new is None else news[pair.new]
        by_words = before != after and pair.old is not None and pair.new is not None
        found.append(
            make_row(pair, diff.diff_words(before, after, budget) if by_words else whole_change(before, after))
        )
    return found


def whole_change(before: str, after: str) -> list[Change]:
    """Return the pieces of something short that is another now as a whole, or is on one side alone."""
    if before == after:
        return [Change("equal", after)]
    pieces = (Change("delete", before), Change("insert", after))
    return [piece for piece in pieces if piece.text]


def make_row(pair: Pair, pieces: Sequence[Change]) -> Row:
    """Return the row of a pair by the pieces of both its sides."""
    kind: Kind
    if pair.new is None:
        kind = "left" if pair.is_moved else "removed"
    elif pair.old is None:
        kind = "came" if pair.is_moved else "added"
    else:
        kind = "same" if all(piece.kind == "equal" for piece in pieces) else "changed"
    old, new = (tuple(piece for piece in pieces if piece.kind != other) for other in ("insert", "delete"))
    return Row(kind, pair, old, new)


def align(
    olds: Sequence[Hashable],
    news: Sequence[Hashable],
    budget: Budget,
    became: Callable[[Sequence[str], Sequence[str], Budget], list[tuple[int, int]]] | None = None,
) -> Iterator[Pair]:
    """Yield all parts of both sequences in the order of rows: what is equal together, between it what `became` pairs.

    A part that is equal to one elsewhere has moved, and is paired with nothing. `became` gets the others that stand between
    equal ones and returns which became which, as indexes in order; without it none does.
    """
    found = list(regions(olds, news, budget))
    unequal = [region for region, equal in found if not equal]
    gone = Counter(olds[i] for region in unequal for i in range(region.old_start, region.old_end))
    come = Counter(news[i] for region in unequal for i in range(region.new_start, region.new_end))
    moved_from = gone & come
    moved_to = gone & come
    for region, equal in found:
        if equal:
            yield from (
                Pair(region.old_start + step, region.new_start + step)
                for step in range(region.old_end - region.old_start)
            )
            continue
        left = {i for i in range(region.old_start, region.old_end) if _take_moved(moved_from, olds[i])}
        came = {i for i in range(region.new_start, region.new_end) if _take_moved(moved_to, news[i])}
        here = [i for i in range(region.old_start, region.old_end) if i not in left]
        there = [i for i in range(region.new_start, region.new_end) if i not in came]
        pairs = became([str(olds[i]) for i in here], [str(news[i]) for i in there], budget) if became else []
        yield from _pairs_in_region(region, [(here[i], there[j]) for i, j in pairs], left, came)


def _take_moved(moved: Counter[Hashable], part: Hashable) -> bool:
    """Count one of the places of `part` as moved, if there is one left."""
    if not moved[part]:
        return False
    moved[part] -= 1
    return True


def _pairs_in_region(
    region: Region, pairs: Sequence[tuple[int, int]], left: set[int], came: set[int]
) -> Iterator[Pair]:
    """Yield a region's parts: before each pair what was removed, then what was added."""
    at_old = region.old_start
    at_new = region.new_start
    end_old = region.old_end
    end_new = region.new_end
    for old, new in [*pairs, (end_old, end_new)]:
        yield from (Pair(i, None, i in left) for i in range(at_old, old))
        yield from (Pair(None, j, j in came) for j in range(at_new, new))
        if old < end_old:
            yield Pair(old, new)
        at_old = old + 1
        at_new = new + 1
