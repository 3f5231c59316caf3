"""Three-way merge of lists, item by item.

Changes that only one side made are accepted. If both sides add items in the same place, all of these items are kept.
If both sides move an item to different places, the first of these places is used.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from marginalia.markup.comparing.sequences import Budget, regions

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class MergedList(Generic[T]):
    """The merged list, with one version for each side.

    The two versions differ only in items that both sides changed in different ways.
    """

    mine: tuple[T, ...]
    theirs: tuple[T, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the merge has no conflicts."""
        return self.mine == self.theirs


class _Edit(NamedTuple):
    """An edit that replaces the items from `start` to `end` of the base with `items`."""

    start: int
    end: int
    is_mine: bool
    items: tuple[Hashable, ...]


def merge(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> MergedList[T]:
    """Merge `mine` and `theirs`, which both derive from `base`, item by item. Items are atomic, and order matters."""
    ours: list[T] = []
    others: list[T] = []
    position = 0
    edits = sorted([*_edits(base, mine, True), *_edits(base, theirs, False)], key=lambda edit: edit[:2])
    for start, end, cluster in _clusters(edits):
        ours += base[position:start]
        others += base[position:start]
        left = _side(base, start, end, [edit for edit in cluster if edit.is_mine])
        right = _side(base, start, end, [edit for edit in cluster if not edit.is_mine])
        if left is not None and right is not None and start == end:
            known = set(right)
            left = right = [*right, *(item for item in left if item not in known)]
        ours += right if left is None else left  # type: ignore[arg-type]
        others += left if right is None else right  # type: ignore[arg-type]
        position = end
    # If both sides moved an item, it was inserted twice but removed once.
    most = (Counter(mine) + Counter(theirs) - Counter(base)) | Counter(mine) | Counter(theirs)
    return MergedList(*(_at_most((*side, *base[position:]), most) for side in (ours, others)))


def _at_most(items: Iterable[T], most: Mapping[T, int]) -> tuple[T, ...]:
    """Return `items` without the occurrences of each item beyond `most`."""
    used: Counter[T] = Counter()
    kept = []
    for item in items:
        used[item] += 1
        if used[item] <= most[item]:
            kept.append(item)
    return tuple(kept)


def _edits(base: Sequence[T], side: Sequence[T], is_mine: bool) -> Iterator[_Edit]:
    for (start, end, first, last), equal in regions(base, side, Budget()):
        if equal:
            continue
        if end - start == last - first:
            # If the number of items is unchanged, each new item replaces the old item at the same position.
            for number in range(end - start):
                yield _Edit(start + number, start + number + 1, is_mine, (side[first + number],))
        else:
            yield _Edit(start, end, is_mine, tuple(side[first:last]))


def _clusters(edits: Sequence[_Edit]) -> Iterator[tuple[int, int, list[_Edit]]]:
    """Yield (start, end, edits) for edits that change the same items or insert items in the same place."""
    cluster: list[_Edit] = []
    end = 0
    for edit in edits:
        together = cluster and (edit.start < end or edit[:2] == cluster[0][:2])
        if cluster and not together:
            yield cluster[0].start, end, cluster
            cluster = []
        end = max(end, edit.end) if cluster else edit.end
        cluster.append(edit)
    if cluster:
        yield cluster[0].start, end, cluster


def _side(base: Sequence[T], start: int, end: int, edits: Sequence[_Edit]) -> list[Hashable] | None:
    """Return one side's version of the items from `start` to `end`, or None if that side didn't change them."""
    if not edits:
        return None
    made: list[Hashable] = []
    position = start
    for edit in edits:
        made += [*base[position : edit.start], *edit.items]
        position = edit.end
    return [*made, *base[position:end]]
