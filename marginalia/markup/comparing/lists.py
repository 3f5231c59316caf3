"""Three-way merge of lists by item: what one side changed is taken, what both added at one place stays side by side."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from marginalia.markup.comparing.sequences import Budget, regions

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class MergedList(Generic[T]):
    """The merged list as either side would have it: they differ only in items that both changed, each in another way."""

    mine: tuple[T, ...]
    theirs: tuple[T, ...]

    @property
    def is_whole(self) -> bool:
        """Whether no item is left to decide."""
        return self.mine == self.theirs


class _Edit(NamedTuple):
    """The base's items `start` to `end` became `items`."""

    start: int
    end: int
    is_mine: bool
    items: tuple[Hashable, ...]


def merge(base: Sequence[T], mine: Sequence[T], theirs: Sequence[T]) -> MergedList[T]:
    """Return `mine` and `theirs`, both made from `base`, merged by item. Items are equal or not; their order counts."""
    ours: list[T] = []
    others: list[T] = []
    at = 0
    edits = sorted([*_edits(base, mine, True), *_edits(base, theirs, False)], key=lambda edit: edit[:2])
    for start, end, cluster in _clusters(edits):
        ours += base[at:start]
        others += base[at:start]
        left = _side(base, start, end, [edit for edit in cluster if edit.is_mine])
        right = _side(base, start, end, [edit for edit in cluster if not edit.is_mine])
        if left is not None and right is not None and start == end:
            known = set(right)
            left = right = [*right, *(item for item in left if item not in known)]
        ours += right if left is None else left  # type: ignore[arg-type]
        others += left if right is None else right  # type: ignore[arg-type]
        at = end
    return MergedList((*ours, *base[at:]), (*others, *base[at:]))


def _edits(base: Sequence[T], side: Sequence[T], is_mine: bool) -> Iterator[_Edit]:
    for (start, end, first, last), equal in regions(base, side, Budget()):
        if equal:
            continue
        if end - start == last - first:
            # As many as there were: each became the one at its place.
            for number in range(end - start):
                yield _Edit(start + number, start + number + 1, is_mine, (side[first + number],))
        else:
            yield _Edit(start, end, is_mine, tuple(side[first:last]))


def _clusters(edits: Sequence[_Edit]) -> Iterator[tuple[int, int, list[_Edit]]]:
    """Yield (start, end, edits) of what touches the same items of the base, or inserts at the same place."""
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
    """Return what one side made of the items `start` to `end`; None if it left them alone."""
    if not edits:
        return None
    made: list[Hashable] = []
    at = start
    for edit in edits:
        made += [*base[at : edit.start], *edit.items]
        at = edit.end
    return [*made, *base[at:end]]
