"""Small answers kept in process under the site's version, until the next due time: never older than what they show."""

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, TypeVar

from bson import ObjectId

from nodes.selectors import site

T = TypeVar("T")

# Answers kept at once: neighbours of posts, tables of months, links of the footer. Some 10 MB.
MOST = 5_000

_version: ObjectId | None = None
_answers: dict[Hashable, tuple[datetime | None, Any]] = {}


def under_version(key: Hashable, moment: datetime, work: Callable[[], tuple[T, datetime | None]]) -> T:
    """Return what `work` answers, asked again only after a change of the site or when the answer is due.

    `work` returns (answer, when it changes by itself or None). The version was read before the data that `work` reads.
    """
    global _version, _answers
    version = site.current().version
    if version is None:
        return work()[0]
    if version != _version or len(_answers) >= MOST:
        _version, _answers = version, {}
    answers = _answers
    if key in answers:
        due, answer = answers[key]
        if due is None or moment < due:
            return answer
    answer, due = work()
    answers[key] = due, answer
    return answer
