"""What changed between two texts, word by word."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from marginalia.markup.characters import IDEOGRAPHS
from marginalia.markup.comparing.sequences import Budget, are_comparable, best_pairs, pair_in_order, regions

_PARAGRAPH_END: Final = re.compile(r"(\n[ \t\r]*\n[ \t\r\n]*)")
_THAI_MARKS: Final = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
_PUNCTUATION: Final = (
    "!-/:-@\\[-`{-~\u00a1-\u00bf\u2010-\u205e\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
# Words, white space, single signs. Chinese and Japanese by character, Thai and Lao by letter with its marks.
_WORD: Final = re.compile(
    rf"\s+|[{IDEOGRAPHS}]|[\u0e00-\u0eff][{_THAI_MARKS}]*|[{_PUNCTUATION}]"
    rf"|[^\s{IDEOGRAPHS}{_PUNCTUATION}\u0e00-\u0eff]+"
)
_MAX_IDLE: Final = 12  # characters
_STEPS_PER_PAIR: Final = 10


@dataclass(frozen=True)
class Change:
    """A piece of text that is in both versions, only in the new one, or only in the old one."""

    kind: Literal["equal", "insert", "delete"]
    text: str


def split_paragraphs(text: str, most: int) -> list[str]:
    """Return the paragraphs of a text, without the white space between them; those after the first `most` as one."""
    return [part for part in _PARAGRAPH_END.split(text, most)[::2] if part.strip()]


def diff_words(old: str, new: str, budget: Budget | None = None) -> list[Change]:
    """Return the pieces of `old` and `new` in order, a deletion before the insertion that replaced it.

    Without the insertions they join to `old`, without the deletions to `new`, character for character. Paragraphs are
    compared first, then the words of those that changed; what stands between two changes and is smaller than both is
    taken as changed too, for it says nothing to a reader. What the `budget` of comparisons does not reach counts as
    changed.
    """
    budget = budget or Budget()
    old_parts = _PARAGRAPH_END.split(old)
    new_parts = _PARAGRAPH_END.split(new)
    changes: list[Change] = []
    for region, equal in regions(old_parts, new_parts, budget):
        before = "".join(old_parts[region.old_start : region.old_end])
        after = "".join(new_parts[region.new_start : region.new_end])
        changes.extend([Change("equal", before)] if equal else _diff_region(before, after, budget))
    return _tidy(changes)


def match_paragraphs(olds: Sequence[str], news: Sequence[str], budget: Budget | None = None) -> list[tuple[int, int]]:
    """Return which of the paragraphs `olds` became which of `news`, as indexes in order.

    They are matched by the words they share (Dice's coefficient of the bags of words), if there are few enough and the
    `budget` suffices; else one to one, where there are as many on both sides (and not too many for that).
    """
    budget = budget or Budget()
    straight = pair_in_order(len(olds), len(news))
    if not are_comparable(len(olds), len(news)):
        return straight if len(straight) < 2 or budget.spend(_STEPS_PER_PAIR * len(straight)) else []
    old_bags, new_bags = (
        [Counter(word for word in _WORD.findall(text) if word[0].isalnum()) for text in texts] for texts in (olds, news)
    )
    old_totals, new_totals = ([bag.total() for bag in bags] for bags in (old_bags, new_bags))
    # Each pair takes a step for every word of its smaller bag, and as much again as a bag of a few words.
    words_compared = min(sum(map(len, old_bags)) * len(news), sum(map(len, new_bags)) * len(olds))
    if not budget.spend(words_compared + _STEPS_PER_PAIR * len(olds) * len(news)):
        return straight

    def likeness(i: int, j: int) -> float:
        count = old_totals[i] + new_totals[j]
        return 2 * _count_shared(old_bags[i], new_bags[j]) / count if count else float(olds[i] == news[j])

    return best_pairs(len(olds), len(news), likeness)


def _count_shared(one: Counter[str], other: Counter[str]) -> int:
    """Return how many words two bags have in common."""
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return sum(min(count, large[word]) for word, count in small.items() if word in large)


def _diff_region(old: str, new: str, budget: Budget) -> list[Change]:
    before = _WORD.findall(old)
    after = _WORD.findall(new)
    changes = []
    for region, equal in regions(before, after, budget):
        gone = "".join(before[region.old_start : region.old_end])
        come = "".join(after[region.new_start : region.new_end])
        changes.extend([Change("equal", gone)] if equal else [Change("delete", gone), Change("insert", come)])
    return changes


def _tidy(changes: Sequence[Change]) -> list[Change]:
    """Return `changes` with neighbours joined and without equal pieces that only cut up a change."""
    steps: list[tuple[str, str, str]] = []  # (equal text, deleted after it, inserted after it)
    for change in changes:
        equal, gone, come = steps.pop() if steps else ("", "", "")
        if change.kind == "equal" and (gone or come):
            steps += [(equal, gone, come), (change.text, "", "")]
        elif change.kind == "equal":
            steps.append((equal + change.text, "", ""))
        elif change.kind == "delete":
            steps.append((equal, gone + change.text, come))
        else:
            steps.append((equal, gone, come + change.text))
    tidied: list[tuple[str, str, str]] = []
    for equal, gone, come in steps:
        step = (equal, gone, come)
        while tidied and _is_idle(tidied[-1], step):
            before, old, new = tidied.pop()
            step = (before, old + step[0] + step[1], new + step[0] + step[2])
        tidied.append(step)
    kinds: tuple[Literal["equal", "delete", "insert"], ...] = ("equal", "delete", "insert")
    return [Change(kind, text) for step in tidied for kind, text in zip(kinds, step, strict=True) if text]


def _is_idle(before: tuple[str, str, str], step: tuple[str, str, str]) -> bool:
    """Tell whether the equal text between two changes is less than either: white space, or some small word.

    Google's diff-match-patch calls taking it as changed the "semantic cleanup".
    """
    equal = step[0]
    if not (before[1] or before[2]) or not (step[1] or step[2]) or "\n" in equal:
        return False
    return not equal.strip() or (
        len(equal) <= max(len(before[1]), len(before[2]))
        and len(equal) <= max(len(step[1]), len(step[2]))
        and len(equal) <= _MAX_IDLE
    )
