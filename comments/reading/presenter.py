"""Presentation of comments in templates, and fast rendering of many comments.

`comments/comment.html` is an ordinary template. If a project doesn't override it, it is rendered only once for each
combination of flags (reply, edited, removed, …), with placeholders for the values. The result, called a form, is then
filled in for each comment with string formatting. If a project overrides the template, it is rendered for each comment,
because it can use the values in any way.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary
from zlib import crc32

from django.db.models import Model
from django.template import Context, Template
from django.template.loader import select_template
from django.utils.formats import localize
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from marginalia.comments.reading.times import Clock
from marginalia.comments.types import Comment, Kind, Order, Restrictions, Target
from marginalia.comments.views import target_url, template_names

SHIPPED = Path(__file__).parents[1] / "templates"
# A placeholder for the slug of a comment when a URL is reversed. Real slugs never contain "1".
_SLUG = "1" * 16
_MARK = re.compile("\x00(\\w+)\x01")
# The names of the values that are filled into a form as HTML.
VALUES = (
    "anchor",
    "permalink",
    "name",
    "initials",
    "hue",
    "url",
    "html",
    "posted_iso",
    "posted_exact",
    "posted_day",
    "posted_ago",
    "edited_exact",
    "depth",
    "level",
    "answers_name",
    "answers_link",
    "reply_link",
    "thread_link",
    "flag_link",
    "like_link",
    "likes",
    "edit_link",
    "moderate_link",
)
# How many avatar colours there are. Each is a class in comments.css.
HUES = 12
UNRESTRICTED = Restrictions()


class Flags(NamedTuple):
    """The conditions that determine how a comment is shown. Templates refer to them by these names."""

    removed: bool
    edited: bool
    has_url: bool
    answers: bool
    # True if the comment is shown at the same level as the comment that it replies to, because that comment is already
    # at the deepest level.
    is_beside: bool
    # True if the comment that it replies to is the previous comment on the page.
    is_below_parent: bool
    by_author: bool
    by_moderator: bool
    may_reply: bool
    has_replies: bool
    is_ping: bool
    # True for comments whose thread is locked, but not for the replies in the thread.
    is_locked: bool
    may_moderate: bool
    is_pinned: bool
    # True if the reader is a moderator who has just hidden the comment.
    is_just_hidden: bool
    may_like: bool


@dataclass(frozen=True)
class CommentUrls:
    """The prefixes of the comment URLs of a discussion.

    To get the URL for a comment, append the comment's slug to a prefix.
    """

    permalink: str
    permalink_tail: str
    reply: str
    thread: str
    flag: str
    like: str
    edit: str
    moderate: str

    @classmethod
    def for_target(cls, target: Target, order: str = "") -> "CommentUrls":
        """Return the URL prefixes for comments on `target`.

        Permalinks open the page that contains the comment, in `order` or, if `order` is "", in the discussion's default
        order.
        """

        def before_slug(name: str) -> str:
            return target_url(name, target, _SLUG).removesuffix(_SLUG)

        form = target_url("comments-form", target)
        return cls(
            before_slug("comments-url-redirect"),
            f"?order={order}" if order else "",
            f"{form}?parent=",
            before_slug("comments-thread"),
            before_slug("comments-flag"),
            before_slug("comments-like"),
            before_slug("comments-edit"),
            before_slug("comments-moderate"),
        )


# Maps attribute names that templates for Django's comments framework use to the current names.
OLD_NAMES = {"user_name": "name", "user_url": "url", "submit_date": "posted", "is_removed": "removed"}


class CommentView:
    """A comment, with the flags and values that templates need.

    The view also has the attributes of the comment itself (see `types.Comment`).
    """

    # The discussed object. It is set only in lists of comments from several discussions, and is otherwise None.
    obj: Model | None = None

    def __init__(self, comment: Comment, presenter: "Presenter", flags: Flags) -> None:
        self.comment = comment
        self.presenter = presenter
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        if name in Flags._fields:
            return getattr(self.flags, name)
        if name in VALUES:
            return self.values[name]
        return getattr(self, OLD_NAMES[name]) if name in OLD_NAMES else getattr(self.comment, name)

    def __str__(self) -> str:
        return str(self.comment)

    @cached_property
    def values(self) -> dict[str, str]:
        """Return the comment's values as escaped HTML, keyed by the names in VALUES."""
        return {name: SafeString(value) for name, value in self.presenter.values(self.comment, self.flags).items()}

    def get_absolute_url(self) -> str:
        """Return the permalink of the comment."""
        return self.presenter.urls.permalink + self.comment.slug + self.presenter.urls.permalink_tail


class Presenter:
    """An object that prepares comments that are shown together, such as one page of a discussion, for templates."""

    def __init__(
        self,
        target: Target,
        comments: Sequence[Comment],
        *,
        order: Order,
        may_reply: bool,
        is_own_order: bool = True,
        authors: Collection[str] = (),
        restrictions: Restrictions = UNRESTRICTED,
        may_moderate: bool = False,
        at: str = "",
        may_like: bool = False,
    ) -> None:
        """Initialize with the comments of a page.

        Args:
            target: The target of the discussion.
            comments: The comments on the page.
            order: The order of the comments.
            may_reply: Whether readers can reply.
            is_own_order: Whether `order` is the order in which the discussion is stored.
            authors: The primary keys of the accounts of the object's authors, as strings.
            restrictions: The restrictions of the discussion.
            may_moderate: Whether the reader is a moderator.
            at: The slug of the comment that the reader wants to see, or "". Moderators see its place even if the
                comment was removed.
            may_like: Whether readers can like the comments.
        """
        self.at = at if may_moderate else ""
        self.restrictions = restrictions
        self.may_moderate = may_moderate
        self.may_like = may_like
        self.target = target
        self.order = order
        self.may_reply = may_reply
        self.authors = authors
        self.urls = CommentUrls.for_target(target, "" if is_own_order else order.value)
        self.clock = Clock()
        self.by_slug = {comment.slug: comment for comment in comments}
        self.answered = {comment.answers for comment in comments}
        self.comments = [comment for comment in comments if not comment.removed or self._is_needed(comment)]

    def _is_needed(self, removed: Comment) -> bool:
        """Return whether a removed comment has to be shown, because a reply to it is on the page, or for its undo."""
        return removed.slug in self.answered or removed.slug in self._above or removed.slug == self.at

    @cached_property
    def _below_parent(self) -> set[str]:
        return {comment.slug for above, comment in pairwise(self.comments) if comment.answers == above.slug}

    @cached_property
    def _above(self) -> set[str]:
        paths = (slug.split("/") for slug in self.by_slug)
        return {"/".join(path[:depth]) for path in paths for depth in range(1, len(path))}

    def views(self) -> list[CommentView]:
        """Return the comments as `CommentView` objects, for use in templates."""
        return [CommentView(comment, self, self.flags(comment)) for comment in self.comments]

    def flags(self, comment: Comment) -> Flags:
        """Return the conditions that apply to a comment."""
        public = not comment.removed
        author = comment.author
        # To save time, use positional arguments. This code runs for each comment on a page, about 100 times per
        # request.
        return Flags(
            not public,
            public and comment.edited is not None,
            public and bool(author.url),
            bool(comment.answers),
            comment.answers != comment.parent,
            comment.slug in self._below_parent,
            author.id in self.authors,
            author.is_moderator,
            public and self.may_reply and (self.may_moderate or not self.restrictions.is_locked(comment.slug)),
            comment.slug in self.answered,
            comment.kind is not Kind.COMMENT,
            comment.slug in self.restrictions.locked,
            self.may_moderate,
            comment.slug == self.restrictions.pinned,
            not public and comment.slug == self.at,
            public and self.may_like,
        )

    def values(self, comment: Comment, flags: Flags) -> dict[str, str]:
        """Return the comment's values as HTML, keyed by the names in VALUES."""
        urls = self.urls
        clock = self.clock
        slug = comment.slug
        author = comment.author
        name = author.name or _("Anonymous")
        initials, hue = avatar(name)
        values = {
            "anchor": f"c-{comment.part}",
            "permalink": f"{urls.permalink}{slug}{urls.permalink_tail}",
            "name": escape(name),
            "initials": initials,
            "hue": hue,
            "url": escape(author.url) if flags.has_url else "",
            "html": comment.html,
            "posted_iso": comment.posted.isoformat(timespec="seconds"),
            "posted_exact": clock.exact(comment.posted),
            "posted_day": clock.day(comment.posted),
            "posted_ago": clock.ago(comment.posted),
            "edited_exact": clock.exact(comment.edited) if comment.edited else "",
            "depth": str(comment.depth),
            "level": str(comment.depth + 1),
            "answers_name": "",
            "answers_link": "",
            "reply_link": f"{urls.reply}{slug}",
            "thread_link": f"{urls.thread}{slug}",
            "flag_link": f"{urls.flag}{slug}",
            "like_link": f"{urls.like}{slug}",
            "likes": localize(comment.likes) if comment.likes else "",
            "edit_link": f"{urls.edit}{slug}",
            "moderate_link": f"{urls.moderate}{slug}",
        }
        if flags.answers:
            above = self.by_slug.get(comment.answers)
            if above and above.author.name:
                # The name can have another text direction than the words around it.
                values["answers_name"] = f"<bdi>{escape(above.author.name)}</bdi>"
            else:
                values["answers_name"] = _("a removed comment") if above else _("a comment")
            values["answers_link"] = f"#c-{above.part}" if above else f"{urls.permalink}{comment.answers}"
        return values


@lru_cache(maxsize=10_000)
def avatar(name: str) -> tuple[str, str]:
    """Return the initials and the colour number of the avatar for `name`.

    The initials are the first letters of the first and the last word. They are safe in HTML. The number is between 1
    and HUES, and is always the same for the same name.
    """
    letters = [next(filter(str.isalnum, word), "") for word in name.split()]
    words = [letter.upper()[:1] for letter in letters if letter]
    return "".join(words[:1] + words[1:][-1:]) or "?", str(crc32(name.encode()) % HUES + 1)


def comments_html(presenter: Presenter) -> list[str]:
    """Return the HTML of each comment, rendered with `comments/comment.html` or with the project's own template."""
    template = select_template(template_names(presenter.target, "comment"))
    if shipped := _shipped_template(template):
        return _fill_forms(shipped, presenter)
    return [template.render({"comment": view, "target": presenter.target}) for view in presenter.views()]


def _shipped_template(template: Any) -> Template | None:
    """Return the template if it belongs to this app, or None if it belongs to the project.

    The forms of the template are cached with the returned object as the key.
    """
    inner: Template | None = getattr(template, "template", None)
    return inner if isinstance(inner, Template) and SHIPPED in Path(inner.origin.name).parents else None


class Folds:
    """A renderer for folded replies, which uses `comments/folded.html` or the project's own template.

    Create a new instance for each list of comments.
    """

    def __init__(self, target: Target) -> None:
        self._template = select_template(template_names(target, "folded"))
        shipped = _shipped_template(self._template)
        self._forms = _folds.setdefault(shipped, {}) if shipped else None

    def html(self, replies: Iterable[str], count: int, *, is_open: bool, is_rest: bool) -> str:
        """Return the HTML of `count` replies.

        Args:
            replies: The HTML of each reply.
            count: The number of replies.
            is_open: Whether the replies are visible at first.
            is_rest: Whether these are only the remaining replies, after other replies in the thread that are shown
                unfolded.
        """
        context = {"count": count, "is_open": is_open, "is_rest": is_rest}
        if self._forms is None:
            return str(self._template.render({**context, "rendered": join_html(replies)}))
        key = (get_language() or "", count, is_open, is_rest)
        if key not in self._forms:
            before, _, after = self._template.render({**context, "rendered": "\x00"}).partition("\x00")
            self._forms[key] = before, after
        before, after = self._forms[key]
        return f"{before}{''.join(replies)}{after}"


# The HTML that precedes and follows folded replies, keyed by template and by (language, count, is_open, is_rest).
_folds: WeakKeyDictionary[Template, dict[tuple[str, int, bool, bool], tuple[str, str]]] = WeakKeyDictionary()


def _fill_forms(template: Template, presenter: Presenter) -> list[str]:
    forms = _forms.setdefault(template, {})
    language = get_language() or ""
    html = []
    for comment in presenter.comments:
        flags = presenter.flags(comment)
        form = forms.get((language, flags))
        if form is None:
            form = forms[language, flags] = _build_form(template, flags)
        text, select_values = form
        html.append(text % select_values(presenter.values(comment, flags)))
    return html


# A form is a format string, and a function that selects the values to fill in.
Form = tuple[str, Callable[[dict[str, str]], tuple[str, ...]]]
# The forms, keyed by template and by (language, flags). If a template is reloaded, the forms of the old template are
# deleted along with it.
_forms: WeakKeyDictionary[Template, dict[tuple[str, Flags], Form]] = WeakKeyDictionary()


def _build_form(template: Template, flags: Flags) -> Form:
    marks = {name: SafeString(f"\x00{name}\x01") for name in VALUES}
    form = template.render(Context({"comment": {**marks, **flags._asdict()}})).replace("%", "%%")
    # Use positional placeholders, because they are faster than named ones. itemgetter returns a tuple if it has more
    # than one name, and every form contains more than one value.
    return _MARK.sub("%s", form), itemgetter(*_MARK.findall(form))


def join_html(parts: Iterable[str]) -> SafeString:
    """Join the HTML of comments into one safe string.

    The parts are safe, because values have been escaped, and the HTML of comments was sanitized when they were written.
    """
    return SafeString("".join(parts))
