"""Functions that find the common parts of two sequences in limited time. The diff and merge functions use them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

# The number of available steps per part. Only sequences of about 10,000 parts with little in common use up their steps.
# The remaining parts then count as changed. The result is still correct, but it isn't the shortest possible diff.
_STEPS_PER_PART: Final = 20
_MIN_STEPS: Final = 30_000
_MAX_PAIRS: Final = 2_500


class Block(NamedTuple):
    """A block of `size` equal parts: old[old:old + size] == new[new:new + size]."""

    old: int
    new: int
    size: int


@dataclass
class Budget:
    """The number of remaining steps that several comparisons share. A step takes about 0.3 µs."""

    steps: int = 400_000

    def spend(self, steps: int) -> bool:
        """Use up `steps` steps if that many are left. Return whether enough steps were left."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True


class Region(NamedTuple):
    """A pair of slices: old[old_start:old_end] and new[new_start:new_end]."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def common_blocks(old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget | None = None) -> list[Block]:
    """Return the common blocks of `old` and `new` in order, each as long as possible.

    Equal parts at both ends are matched first. Then parts that occur exactly once on each side become anchors (patience
    diff, Bram Cohen 2003). For regions without anchors, the shortest edit script is computed (E. Myers, "An O(ND)
    difference algorithm and its variations", 1986).
    """
    budget = budget or Budget()
    comparison = _Comparison(old, new, budget.steps)
    comparison.run()
    budget.steps -= comparison.steps
    joined: list[Block] = []
    for block in sorted(comparison.found):
        last = joined[-1] if joined else None
        if last and last.old + last.size == block.old and last.new + last.size == block.new:
            joined[-1] = Block(last.old, last.new, last.size + block.size)
        else:
            joined.append(block)
    return joined


def regions(
    old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget | None = None
) -> Iterator[tuple[Region, bool]]:
    """Split both sequences into regions. Yield each region in order, and whether its two sides are equal."""
    at_old = at_new = 0
    for block in [*common_blocks(old, new, budget), Block(len(old), len(new), 0)]:
        if at_old < block.old or at_new < block.new:
            yield Region(at_old, block.old, at_new, block.new), False
        at_old = block.old + block.size
        at_new = block.new + block.size
        if block.size:
            yield Region(block.old, at_old, block.new, at_new), True


def are_comparable(count_old: int, count_new: int) -> bool:
    """Return whether there are few enough parts for `best_pairs` to compare each old part with each new part."""
    return 1 < count_old * count_new <= _MAX_PAIRS


def pair_in_order(count_old: int, count_new: int) -> list[tuple[int, int]]:
    """Return one-to-one pairs if both sides have the same number of parts, or an empty list otherwise."""
    return [(index, index) for index in range(count_old)] if count_old == count_new else []


def best_pairs(
    count_old: int, count_new: int, similarity: Callable[[int, int], float], least: float = 0.3
) -> list[tuple[int, int]]:
    """Return pairs of old and new parts, in order, that maximize the sum of `similarity` (0 to 1).

    If both sides have the same number of parts, parts in the same position are paired, unless these pairs match badly
    and other pairs match well. If there are too many parts (see `are_comparable`), the similarity isn't computed.

    Args:
        count_old: The number of old parts.
        count_new: The number of new parts.
        similarity: A function that receives the indexes of an old and a new part, and returns their similarity.
        least: The minimum similarity of a pair.
    """
    one_to_one = pair_in_order(count_old, count_new)
    if not are_comparable(count_old, count_new):
        return one_to_one
    table = [[0.0] * (count_new + 1) for _ in range(count_old + 1)]
    values = [[similarity(i, j) for j in range(count_new)] for i in range(count_old)]
    for i in range(count_old - 1, -1, -1):
        for j in range(count_new - 1, -1, -1):
            together = values[i][j] + table[i + 1][j + 1] if values[i][j] >= least else 0.0
            table[i][j] = max(together, table[i + 1][j], table[i][j + 1])
    if one_to_one:
        one_to_one_sum = sum(values[i][i] for i in range(count_old))
        if one_to_one_sum >= 0.1 * count_old or table[0][0] < 0.6 * (count_old - 1):
            return one_to_one
    chosen = []
    i = j = 0
    while i < count_old and j < count_new:
        if values[i][j] >= least and table[i][j] == values[i][j] + table[i + 1][j + 1]:
            chosen.append((i, j))
            i = i + 1
            j = j + 1
        elif table[i][j] == table[i + 1][j]:
            i += 1
        else:
            j += 1
    return chosen


class _Comparison:
    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable], steps: int) -> None:
        numbers: dict[Hashable, int] = {}
        self._old = [numbers.setdefault(part, len(numbers)) for part in old]
        self._new = [numbers.setdefault(part, len(numbers)) for part in new]
        self._most = min(_MIN_STEPS + _STEPS_PER_PART * (len(old) + len(new)), steps)
        self.steps = 0
        self.found: list[Block] = []

    def run(self) -> None:
        waiting = [Region(0, len(self._old), 0, len(self._new))]
        while waiting:
            region = self._trimmed(waiting.pop())
            if region.old_start == region.old_end or region.new_start == region.new_end:
                continue
            size = region.old_end - region.old_start + region.new_end - region.new_start
            if self.steps + size > self._most:
                continue
            self.steps += size
            anchors = self._anchors(region)
            if anchors:
                waiting.extend(_split_at_anchors(region, anchors))
            else:
                self._shortest(region)

    def _trimmed(self, region: Region) -> Region:
        """Record the equal parts at both ends of `region`. Return the region between them."""
        old = self._old
        new = self._new
        a, b, c, d = region
        while a < b and c < d and old[a] == new[c]:
            a = a + 1
            c = c + 1
        if a > region.old_start:
            self.found.append(Block(region.old_start, region.new_start, a - region.old_start))
        end = b
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b = b - 1
            d = d - 1
        if b < end:
            self.found.append(Block(b, d, end - b))
        return Region(a, b, c, d)

    def _anchors(self, region: Region) -> list[tuple[int, int]]:
        """Return the positions of parts that occur exactly once on each side and are in the same order on both sides.

        If the order of some parts differs, the result is the longest list of parts whose order is the same.
        """
        old = self._old[region.old_start : region.old_end]
        new = self._new[region.new_start : region.new_end]
        in_old = Counter(old)
        in_new = Counter(new)
        place = {part: index for index, part in enumerate(new, region.new_start) if in_new[part] == 1 == in_old[part]}
        common = [(index, place[part]) for index, part in enumerate(old, region.old_start) if part in place]
        # Patience sorting finds the longest increasing subsequence.
        tops: list[int] = []
        piles: list[int] = []
        before: list[int] = []
        for number, (_, at) in enumerate(common):
            pile = bisect_left(tops, at)
            before.append(piles[pile - 1] if pile else -1)
            if pile == len(tops):
                tops.append(at)
                piles.append(number)
            else:
                tops[pile] = at
                piles[pile] = number
        chain = []
        number = piles[-1] if piles else -1
        while number >= 0:
            chain.append(common[number])
            number = before[number]
        return chain[::-1]

    def _shortest(self, region: Region) -> None:
        """Record the blocks that the shortest edit script of `region` leaves unchanged, if enough steps remain."""
        old = self._old[region.old_start : region.old_end]
        new = self._new[region.new_start : region.new_end]
        if not set(old) & set(new):
            return
        furthest = {1: 0}
        trace: list[dict[int, int]] = []
        for distance in range(len(old) + len(new) + 1):
            trace.append({})
            for diagonal in range(-distance, distance + 1, 2):
                down = diagonal == -distance or (
                    diagonal != distance and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
                )
                x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
                start = x
                y = x - diagonal
                while 0 <= y < len(new) and x < len(old) and old[x] == new[y]:
                    x = x + 1
                    y = y + 1
                furthest[diagonal] = trace[-1][diagonal] = x
                self.steps += 1 + x - start
                if x >= len(old) and y >= len(new):
                    self._walk_back(region, trace, len(old), len(new))
                    return
            if self.steps > self._most:
                return

    def _walk_back(self, region: Region, trace: list[dict[int, int]], x: int, y: int) -> None:
        """Record the diagonals of the path that ends at (x, y). Each diagonal is a block of equal parts."""
        for distance in range(len(trace) - 1, -1, -1):
            diagonal = x - y
            earlier = trace[distance - 1] if distance else {}
            down = diagonal == -distance or (
                diagonal != distance and earlier.get(diagonal - 1, -1) < earlier.get(diagonal + 1, -1)
            )
            previous = diagonal + 1 if down else diagonal - 1
            from_x = earlier[previous] if distance else 0
            start_x = from_x if down or not distance else from_x + 1
            if x > start_x:
                start_y = start_x - diagonal
                self.found.append(Block(region.old_start + start_x, region.new_start + start_y, x - start_x))
            x = from_x
            y = from_x - previous


def _split_at_anchors(region: Region, anchors: Sequence[tuple[int, int]]) -> Iterator[Region]:
    """Yield the regions before, between and after `anchors`. Each region except the first begins with an anchor."""
    a = region.old_start
    c = region.new_start
    for old, new in anchors:
        yield Region(a, old, c, new)
        a = old
        c = new
    yield Region(a, region.old_end, c, region.new_end)
