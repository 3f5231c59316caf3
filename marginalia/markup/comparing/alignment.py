"""Functions that align old and new text in rows of corresponding paragraphs or list items."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from marginalia.markup.comparing import diff
from marginalia.markup.comparing.diff import Change
from marginalia.markup.comparing.sequences import Budget, Region, regions

# "left" marks the old position of a moved paragraph, and "came" its new position.
Kind = Literal["same", "changed", "removed", "added", "left", "came"]

# Maximum number of paragraphs that get their own row. The rest of the text shares one row.
MAX_PARAGRAPHS: Final = 6_000


class Pair(NamedTuple):
    """The indexes of an old part and the corresponding new part. An index is None if that side has no such part."""

    old: int | None
    new: int | None
    is_moved: bool = False


@dataclass(frozen=True)
class Row:
    """A row with corresponding pieces of the old and new versions.

    If one version has no corresponding part, its side is empty.
    """

    kind: Kind
    pair: Pair
    old: tuple[Change, ...] = ()
    new: tuple[Change, ...] = ()


def align_items(olds: Sequence[str], news: Sequence[str], budget: Budget | None = None) -> list[Row]:
    """Return the rows for two versions of a list of strings, with the changed words marked.

    Args:
        olds: The items of the old version.
        news: The items of the new version.
        budget: The number of steps available for comparisons. Once it is used up, the remaining text counts as changed.
    """
    budget = budget or Budget()
    matched = []
    for pair in align(olds, news, budget, diff.match_paragraphs):
        before = "" if pair.old is None else olds[pair.old]
        after = "" if pair.new is None else news[pair.new]
        by_words = before != after and pair.old is not None and pair.new is not None
        matched.append(
            make_row(pair, diff.diff_words(before, after, budget) if by_words else whole_change(before, after))
        )
    return matched


def whole_change(before: str, after: str) -> list[Change]:
    """Return the pieces for text whose words aren't compared, because it is short or exists in only one version."""
    if before == after:
        return [Change("equal", after)]
    pieces = (Change("delete", before), Change("insert", after))
    return [piece for piece in pieces if piece.text]


def make_row(pair: Pair, pieces: Sequence[Change]) -> Row:
    """Return the row for `pair`. `pieces` contains the pieces of both versions."""
    old, new = (tuple(piece for piece in pieces if piece.kind != other) for other in ("insert", "delete"))
    return Row(kind_of(pair, is_same=all(piece.kind == "equal" for piece in pieces)), pair, old, new)


def kind_of(pair: Pair, *, is_same: bool) -> Kind:
    """Return the kind of the row for `pair`. If both versions have the part, `is_same` is whether it is the same."""
    if pair.new is None:
        return "left" if pair.is_moved else "removed"
    if pair.old is None:
        return "came" if pair.is_moved else "added"
    return "same" if is_same else "changed"


def align(
    olds: Sequence[Hashable],
    news: Sequence[Hashable],
    budget: Budget,
    match: Callable[[Sequence[str], Sequence[str], Budget], list[tuple[int, int]]] | None = None,
) -> Iterator[Pair]:
    """Yield the pairs of two sequences in row order. Equal parts are paired, and `match` pairs the parts between them.

    A part that equals a part elsewhere in the other version was moved, so these two parts aren't paired.

    Args:
        olds: The parts of the old version.
        news: The parts of the new version.
        budget: The number of steps available for comparisons.
        match: A function that receives the remaining parts between equal parts, and returns pairs of corresponding
            indexes in order. If `match` is None, these parts aren't paired.
    """
    matched = list(regions(olds, news, budget))
    unequal = [region for region, equal in matched if not equal]
    gone = Counter(olds[i] for region in unequal for i in range(region.old_start, region.old_end))
    come = Counter(news[i] for region in unequal for i in range(region.new_start, region.new_end))
    moved_from = gone & come
    moved_to = gone & come
    for region, equal in matched:
        if equal:
            yield from (
                Pair(region.old_start + step, region.new_start + step)
                for step in range(region.old_end - region.old_start)
            )
            continue
        left = {i for i in range(region.old_start, region.old_end) if _take_moved(moved_from, olds[i])}
        came = {i for i in range(region.new_start, region.new_end) if _take_moved(moved_to, news[i])}
        unmoved_old = [i for i in range(region.old_start, region.old_end) if i not in left]
        unmoved_new = [i for i in range(region.new_start, region.new_end) if i not in came]
        pairs = match([str(olds[i]) for i in unmoved_old], [str(news[i]) for i in unmoved_new], budget) if match else []
        yield from _pairs_in_region(region, [(unmoved_old[i], unmoved_new[j]) for i, j in pairs], left, came)


def _take_moved(moved: Counter[Hashable], part: Hashable) -> bool:
    """Remove `part` from the `moved` parts once, and return True. Return False if it isn't one of them."""
    if not moved[part]:
        return False
    moved[part] -= 1
    return True


def _pairs_in_region(
    region: Region, pairs: Sequence[tuple[int, int]], left: set[int], came: set[int]
) -> Iterator[Pair]:
    """Yield the pairs in a region. Before each pair, yield the removed and then the added parts that precede it."""
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
