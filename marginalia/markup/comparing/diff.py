"""Word-by-word differences between old and new text."""

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
# Matches words, white space and single punctuation marks. Chinese and Japanese text is split by character, and Thai and
# Lao text by letter.
_WORD: Final = re.compile(
    rf"\s+|[{IDEOGRAPHS}]|[\u0e00-\u0eff][{_THAI_MARKS}]*|[{_PUNCTUATION}]"
    rf"|[^\s{IDEOGRAPHS}{_PUNCTUATION}\u0e00-\u0eff]+"
)
_MAX_IDLE: Final = 12  # characters
_STEPS_PER_PAIR: Final = 10


@dataclass(frozen=True)
class Change:
    """A piece of text that is in both versions, only in the new version, or only in the old version."""

    kind: Literal["equal", "insert", "delete"]
    text: str


def split_paragraphs(text: str, limit: int) -> list[str]:
    """Return the paragraphs of `text` without the white space between them.

    All text after the first `limit` paragraphs is returned as one paragraph.
    """
    return [part for part in _PARAGRAPH_END.split(text, limit)[::2] if part.strip()]


def split_words(text: str) -> list[str]:
    """Return the words, the white space and the punctuation marks of `text`, in order."""
    return _WORD.findall(text)


def diff_words(old: str, new: str, budget: Budget | None = None) -> list[Change]:
    """Return the pieces of `old` and `new` in order. A deletion comes before the insertion that replaces it.

    Without the insertions, the pieces make up exactly `old`. Without the deletions, they make up exactly `new`.
    Paragraphs are compared first, then the words of changed paragraphs. Unchanged text between two changes counts as
    changed if it is shorter than each of them, because showing such short text as unchanged doesn't help readers. When
    the `budget` is used up, the remaining text counts as changed.
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
    """Return the index pairs of corresponding paragraphs in `olds` and `news`, in order.

    If there are few enough paragraphs and the `budget` suffices, paragraphs are matched by the words they share (Dice's
    coefficient of their bags of words). Otherwise, paragraphs in the same position are paired, provided that both sides
    have the same number of paragraphs. If the `budget` doesn't even suffice for this, no paragraphs are paired.
    """
    budget = budget or Budget()
    in_order = pair_in_order(len(olds), len(news))
    if not are_comparable(len(olds), len(news)):
        return in_order if len(in_order) < 2 or budget.spend(_STEPS_PER_PAIR * len(in_order)) else []
    old_bags, new_bags = (
        [Counter(word for word in split_words(text) if word[0].isalnum()) for text in texts] for texts in (olds, news)
    )
    old_totals, new_totals = ([bag.total() for bag in bags] for bags in (old_bags, new_bags))
    # Comparing two paragraphs costs one step for each distinct word of the paragraph that has fewer of them, plus a
    # constant.
    words_compared = min(sum(map(len, old_bags)) * len(news), sum(map(len, new_bags)) * len(olds))
    if not budget.spend(words_compared + _STEPS_PER_PAIR * len(olds) * len(news)):
        return in_order

    def similarity(i: int, j: int) -> float:
        count = old_totals[i] + new_totals[j]
        return 2 * _count_shared(old_bags[i], new_bags[j]) / count if count else float(olds[i] == news[j])

    return best_pairs(len(olds), len(news), similarity)


def _count_shared(first: Counter[str], second: Counter[str]) -> int:
    """Return how many words two bags of words have in common."""
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    return sum(min(count, large[word]) for word, count in small.items() if word in large)


def _diff_region(old: str, new: str, budget: Budget) -> list[Change]:
    before = split_words(old)
    after = split_words(new)
    changes = []
    for region, equal in regions(before, after, budget):
        deleted = "".join(before[region.old_start : region.old_end])
        inserted = "".join(after[region.new_start : region.new_end])
        changes.extend([Change("equal", deleted)] if equal else [Change("delete", deleted), Change("insert", inserted)])
    return changes


def _tidy(changes: Sequence[Change]) -> list[Change]:
    """Return `changes` with adjacent pieces joined, and without equal pieces that merely interrupt a change."""
    steps: list[tuple[str, str, str]] = []  # (equal text, text deleted after it, text inserted after it)
    for change in changes:
        equal, deleted, inserted = steps.pop() if steps else ("", "", "")
        if change.kind == "equal" and (deleted or inserted):
            steps += [(equal, deleted, inserted), (change.text, "", "")]
        elif change.kind == "equal":
            steps.append((equal + change.text, "", ""))
        elif change.kind == "delete":
            steps.append((equal, deleted + change.text, inserted))
        else:
            steps.append((equal, deleted, inserted + change.text))
    tidied: list[tuple[str, str, str]] = []
    for equal, deleted, inserted in steps:
        step = (equal, deleted, inserted)
        while tidied and is_idle(tidied[-1], step):
            before, old, new = tidied.pop()
            step = (before, old + step[0] + step[1], new + step[0] + step[2])
        tidied.append(step)
    kinds: tuple[Literal["equal", "delete", "insert"], ...] = ("equal", "delete", "insert")
    return [Change(kind, text) for step in tidied for kind, text in zip(kinds, step, strict=True) if text]


def is_idle(before: tuple[str, str, str], step: tuple[str, str, str]) -> bool:
    """Return whether the equal text between two changes is only white space, or is no longer than each of the changes.

    Marking such text as changed is called "semantic cleanup" in Google's diff-match-patch.
    """
    equal = step[0]
    if not (before[1] or before[2]) or not (step[1] or step[2]) or "\n" in equal:
        return False
    return not equal.strip() or (
        len(equal) <= max(len(before[1]), len(before[2]))
        and len(equal) <= max(len(step[1]), len(step[2]))
        and len(equal) <= _MAX_IDLE
    )
