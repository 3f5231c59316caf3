"""The template context of a page of comments, with folded threads and links to other pages."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from django.db.models import Model
from django.utils.safestring import SafeString

from marginalia.comments import conf, targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.reading import paging, restrictions, selectors
from marginalia.comments.reading.presenter import CommentView, Folds, Presenter, comments_html, join_html
from marginalia.comments.types import Comment, Discussion, Order, Page, Target
from marginalia.comments.views import target_url

ANCHOR = "comments"
# On a threaded page, a thread with at least FOLD_ABOVE replies is folded: only FOLD_LEAVES comments remain visible,
# including the root comment.
FOLD_ABOVE, FOLD_LEAVES = 12, 8


@dataclass(frozen=True)
class Subject:
    """The target of a discussion, and the discussed object if it has already been read."""

    target: Target
    obj: Model | None = None

    @classmethod
    def from_object(cls, obj: Model | Target) -> "Subject":
        """Return the subject for an object or a target."""
        return cls(targets.target_for(obj), obj if isinstance(obj, Model) else None)

    @cached_property
    def object(self) -> Model | None:
        """Return the object, or None if readers can't see it. Look the object up if it hasn't been read yet."""
        if self.obj is not None:
            return self.obj
        try:
            return targets.resolve(self.target)
        except TargetNotFound:
            return None

    @cached_property
    def policy(self) -> Any:
        """Return the policy of the object (`posting.policy.Policy`), or None if readers can't see the object."""
        return targets.policy_function(type(self.object))(self.object) if self.object is not None else None

    @property
    def may_like(self) -> bool:
        """Return whether readers can like the comments."""
        return self.policy is not None and self.policy.likes

    def is_open(self, discussion: Discussion) -> bool:
        """Return whether the discussion currently accepts new comments."""
        return self.policy is not None and not self.policy.is_closed(discussion)

    def authors(self) -> Collection[str]:
        """Return the primary keys of the object's authors, as determined by the function COMMENTS["AUTHORS"]."""
        authors: Collection[str] = conf.load("AUTHORS")(self.object) if self.object is not None else ()
        return authors


def list_context(
    subject: Subject, page: Page, *, slug: str = "", url: str = "", may_moderate: bool = False
) -> dict[str, Any]:
    """Return the template context of a list of comments.

    Args:
        subject: The subject of the discussion.
        page: The page to show.
        slug: The slug of the comment that the reader wants to see, or "".
        url: The URL of the page that contains the list.
        may_moderate: Whether the reader is a moderator.
    """
    is_open = subject.is_open(page.discussion)
    presenter = Presenter(
        subject.target,
        page.comments,
        order=page.order,
        may_reply=is_open,
        is_own_order=page.order is page.discussion.order,
        authors=subject.authors(),
        restrictions=page.discussion.restrictions,
        may_moderate=may_moderate,
        at=slug,
        may_like=subject.may_like,
    )
    return {
        **discussion_context(subject, page),
        "comments": LazyComments(presenter),
        "rendered": render_list(presenter, slug),
        "is_open": is_open,
        "links": paging.links(page, url, ANCHOR),
        "pinned": _pinned(subject.target, page),
        "restrictions": restrictions.sentences(page.discussion.restrictions) if is_open else (),
        "manage_url": target_url("comments-manage", subject.target) if may_moderate else "",
    }


def _pinned(target: Target, page: Page) -> CommentView | None:
    """Return the pinned comment for the first page of a discussion, or None if there is none."""
    comment = None if page.previous else selectors.pinned(page.discussion)
    if comment is None or comment.removed:
        return None
    is_own_order = page.order is page.discussion.order
    presenter = Presenter(target, [comment], order=page.order, may_reply=False, is_own_order=is_own_order)
    return presenter.views()[0]


def discussion_context(subject: Subject, page: Page) -> dict[str, Any]:
    """Return the template context of the discussion itself."""
    return {
        "target": subject.target,
        "page": page,
        "count": page.discussion.count,
        "anchor": ANCHOR,
        "form_url": target_url("comments-form", subject.target),
        "feed_url": target_url("comments-feed", subject.target),
        "old_url": target_url("comments-old-permalink", subject.target),
    }


class LazyComments(Sequence[CommentView]):
    """The comments of a presenter, for templates that loop over them.

    The `CommentView` objects are not created until the first one is needed.
    """

    def __init__(self, presenter: Presenter) -> None:
        self.presenter = presenter
        self._views: list[CommentView] | None = None

    def _get_views(self) -> list[CommentView]:
        if self._views is None:
            self._views = self.presenter.views()
        return self._views

    def __getitem__(self, index: Any) -> Any:
        return self._get_views()[index]

    def __len__(self) -> int:
        return len(self.presenter.comments)


def render_list(presenter: Presenter, slug: str = "") -> SafeString:
    """Return the HTML of a list of comments.

    Long threads are folded. However, if the folded part contains the comment `slug`, it is shown unfolded.
    """
    html = comments_html(presenter)
    if presenter.order is not Order.THREADED:
        return join_html(html)
    return join_html(_fold(presenter, list(zip(presenter.comments, html, strict=True)), slug))


def _fold(presenter: Presenter, pairs: Iterable[tuple[Comment, str]], slug: str) -> Iterator[str]:
    folds = Folds(presenter.target)
    for _root, thread in groupby(pairs, key=lambda pair: pair[0].slug.partition("/")[0]):
        (_first, html), *replies = thread
        yield html
        if not replies:
            continue
        shown = replies if len(replies) < FOLD_ABOVE else replies[: FOLD_LEAVES - 1]
        inside = [html for _, html in shown]
        if rest := replies[len(shown) :]:
            is_open = any(comment.slug == slug for comment, _ in rest)
            inside.append(folds.html([html for _, html in rest], len(rest), is_open=is_open, is_rest=True))
        yield folds.html(inside, len(replies), is_open=True, is_rest=False)


def present_across(comments: Iterable[tuple[Comment, Model]]) -> list[CommentView]:
    """Return comments from several discussions as `CommentView` objects, for use in templates.

    The attribute `obj` of each comment is the object of its discussion.
    """
    return [_present_alone(comment, obj) for comment, obj in comments]


def _present_alone(comment: Comment, obj: Model) -> CommentView:
    view = Presenter(comment.target, [comment], order=Order.OLDEST, may_reply=False).views()[0]
    view.obj = obj
    return view
