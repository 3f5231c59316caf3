"""Lessons: background tasks that tell the spam rules what moderators have decided."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from marginalia.comments import conf
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentError
from marginalia.comments.posting import spam
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target, Verdict
from marginalia.tasks import task

Place = tuple[Target, str]


def teach(places: Sequence[Place], verdict: Verdict) -> None:
    """Enqueue a task that tells the rules about a decision. WAITING means that a decision was undone.

    Args:
        places: The targets and slugs of the comments.
        verdict: The decision.
    """
    if places and spam.learning_rules():
        comments = [[str(target), slug] for target, slug in places]
        learn.using(backend=conf.get("TASKS")).enqueue(comments=comments, verdict=verdict.value)


@task(stored_as="comments.learn")
def learn(comments: list[list[str]], verdict: str) -> None:
    """Tell the rules about a decision. Comments that have been erased, or are public again, are left out."""
    places = [(Target.parse(target), slug) for target, slug in comments]
    decision = Verdict(verdict)
    lessons = [comment for comment in _read(places) if comment.source and not _is_outdated(comment, decision)]
    for rule in spam.learning_rules() if lessons else ():
        rule.learn_many(lessons, decision)


def _read(places: Iterable[Place]) -> Iterator[Comment | HeldComment]:
    """Yield the published or queued comments at these places, removed ones with the text that they had."""
    by_target = defaultdict(list)
    for target, slug in places:
        by_target[target].append(slug)
    for target, slugs in by_target.items():
        try:
            published = backend().get_with_texts(target, slugs)
        except CommentError:  # the discussion is damaged
            continue
        yield from published.values()
        for slug in slugs:
            if slug not in published and (held := selectors.find_held(target, slug, verdict=None)):
                yield held


def _is_outdated(comment: Comment | HeldComment, verdict: Verdict) -> bool:
    """Return whether a comment that was hidden has been restored since."""
    return isinstance(comment, Comment) and not comment.removed and verdict in (Verdict.SPAM, Verdict.REJECTED)
