"""The template tags that `{% load comments %}` loads. docs/reference/template-tags.md describes them.

Tags with "for" accept an object, or `app.model pk`, and then options: order, page, page_size and using.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from django import template
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.template.base import FilterExpression, Parser, Template, Token, token_kwargs
from django.template.context import Context, RequestContext
from django.template.loader import select_template
from django.urls import reverse
from django.utils.safestring import SafeString

from marginalia.comments import targets
from marginalia.comments.errors import DiscussionBusy, DiscussionDamaged, TargetNotFound
from marginalia.comments.moderators import is_sent_by_moderator
from marginalia.comments.posting import forms
from marginalia.comments.reading import lists, outages, paging, selectors, versions
from marginalia.comments.reading.lists import Subject
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.reading.presenter import CommentUrls, CommentView
from marginalia.comments.types import Order, Target
from marginalia.comments.views import target_url, template_names
from marginalia.mongo.servers import Outage

register = template.Library()

IS_OPEN = "comments_is_open"
_AWAY = "comments/away.html"
LIST_OPTIONS = frozenset({"order", "page", "page_size"})


class ForNode(template.Node):
    """A template tag with "for", such as `{% render_comment_list for … %}`.

    The arguments of the tag are an object, or a label and a key. They can be followed by options, and by the name of a
    variable in which the tag stores its result. If the object does not exist, the result is `without`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        obj: FilterExpression | None,
        label: str,
        pk: FilterExpression | None,
        options: dict[str, FilterExpression],
        as_var: str,
        without: Any,
    ) -> None:
        self.function = function
        self.obj = obj
        self.label = label
        self.pk = pk
        self.options = options
        self.as_var = as_var
        self.without = without

    def render(self, context: Context) -> str:
        subject = self.subject(context)
        options = {name: value.resolve(context) for name, value in self.options.items()}
        result = self.without
        if subject:
            read = partial(self.function, context, subject, **options)
            result = _read(context, read, "" if self.as_var else _AWAY)
        if self.as_var:
            context[self.as_var] = result
            return ""
        return str(result)

    def subject(self, context: Context) -> Subject | None:
        """Return the subject of the tag, or None if the object does not exist.

        If the object does not exist, no error is raised, because Django's own comment tags don't raise one either.
        """
        if self.obj is None:
            pk = self.pk.resolve(context) if self.pk else None
            return Subject(Target(self.label, str(pk))) if pk not in (None, "") else None
        obj = self.obj.resolve(context, ignore_failures=True)
        if not isinstance(obj, Model | Target):
            return None
        try:
            subject = Subject.from_object(obj)
        except TargetNotFound:
            return None
        targets.check_registered(subject.target.label)
        return subject


def for_tag(
    name: str, *, fills_variable: bool, options: frozenset[str] = frozenset(), without: Any = ""
) -> Callable[..., Any]:
    """Register a function as a tag `{% name for … [option=…] [as variable] %}`.

    Args:
        name: The name of the tag.
        fills_variable: Whether the tag stores its result in a variable, and therefore requires "as".
        options: The names of the options that the tag accepts.
        without: The result if the object does not exist.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def compile_tag(parser: Parser, token: Token) -> ForNode:
            return _compile(parser, token, function, fills_variable, options, without)

        register.tag(name, compile_tag)
        return function

    return decorate


def _compile(
    parser: Parser,
    token: Token,
    function: Callable[..., Any],
    fills_variable: bool,
    allowed: frozenset[str],
    without: Any,
) -> ForNode:
    name, *bits = token.split_contents()
    if len(bits) < 2 or bits[0] != "for":
        raise template.TemplateSyntaxError(
            f"{{% {name} %}} must begin with “for” and an object, or with “for app.model pk”."
        )
    bits, as_var = _split_variable(name, bits[1:], fills_variable)
    positional = []
    while bits and not token_kwargs(bits[:1], parser):
        positional.append(bits.pop(0))
    options = token_kwargs(bits, parser)
    if bits or not 1 <= len(positional) <= 2:
        raise template.TemplateSyntaxError(f"{{% {name} %}} has invalid arguments: “{token.contents}”.")
    if unknown := set(options) - allowed:
        raise template.TemplateSyntaxError(f"{{% {name} %}} has unknown options: {', '.join(sorted(unknown))}.")
    if len(positional) == 1:
        return ForNode(function, parser.compile_filter(positional[0]), "", None, options, as_var, without)
    pk = parser.compile_filter(positional[1])
    return ForNode(function, None, _label(name, positional[0]), pk, options, as_var, without)


def _split_variable(name: str, bits: list[str], fills_variable: bool) -> tuple[list[str], str]:
    """Return the words that precede "as", and the variable that follows "as"."""
    if fills_variable != (len(bits) > 2 and bits[-2] == "as"):
        problem = "must end with “as variable”" if fills_variable else "doesn't accept “as”"
        raise template.TemplateSyntaxError(f"{{% {name} %}} {problem}.")
    return (bits[:-2], bits[-1]) if fills_variable else (bits, "")


def _label(name: str, text: str) -> str:
    """Return the label of a model in lowercase. Templates can use any case, just as Django's own settings can."""
    try:
        label = targets.get_model(text.lower())._meta.label_lower
        targets.check_registered(label)
        return label
    except (TargetNotFound, ImproperlyConfigured) as error:
        raise template.TemplateSyntaxError(f"{{% {name} %}}: {error}") from error


@for_tag("get_comment_count", fills_variable=True, without=0)
def get_comment_count(context: Context, subject: Subject) -> int:
    """Return the number of public comments."""
    return selectors.count(subject.target)


@register.simple_tag(takes_context=True)
def get_comment_counts(context: Context, objects: Iterable[Model | Target]) -> list[tuple[Model | Target, int | str]]:
    """Return a pair (object, number of public comments) for each object, using a single database command.

    While the comments database is unavailable, the number is "", as with `get_comment_count`.
    """
    listed = list(objects or ())
    return _read(context, partial(_counted, listed), [(obj, "") for obj in listed])


def _counted(objects: list[Model | Target]) -> list[tuple[Model | Target, int | str]]:
    by_object = [(obj, targets.target_for(obj)) for obj in objects]
    for label in {target.label for _, target in by_object}:
        targets.check_registered(label)
    discussions = selectors.discussions(target for _, target in by_object)
    return [(obj, discussions[target].count) for obj, target in by_object]


@for_tag("get_comment_list", fills_variable=True, options=LIST_OPTIONS, without=())
def get_comment_list(context: Context, subject: Subject, **options: Any) -> Sequence[CommentView]:
    """Return one page of comments, over which a template can loop."""
    return _listing(context, subject, **options)["comments"]


@for_tag("render_comment_list", fills_variable=False, options=LIST_OPTIONS | {"using"})
def render_comment_list(context: Context, subject: Subject, using: str = "", **options: Any) -> SafeString:
    """Render one page of comments with `comments/list.html`, including links to other pages."""
    return _render(context, subject, "list", using, _listing(context, subject, **options))


@for_tag("get_comment_form", fills_variable=True)
def get_comment_form(context: Context, subject: Subject) -> forms.CommentForm:
    """Return a form for a new comment."""
    return forms.blank_form(subject.target, _user(context))


@for_tag("render_comment_form", fills_variable=False, options=frozenset({"using"}))
def render_comment_form(context: Context, subject: Subject, using: str = "") -> SafeString:
    """Render a form for a new comment if the discussion is open, or a link to the login page if it is needed first.

    A page that contains the form is meant for only one reader, so caches must not store it.
    """
    if not _is_open(context, subject):
        return SafeString()
    user = _user(context)
    if subject.policy.needs_account(forms.user_key(user)):
        assert subject.object is not None  # without an object, there is no open discussion
        login = {"login_url": resolve_url(settings.LOGIN_URL), "next": subject.object.get_absolute_url()}
        return _render(context, subject, "login", "", login)
    form = forms.blank_form(subject.target, user)
    return _render(context, subject, "form", using, {"form": form, "target": subject.target})


@for_tag("render_comment_form_link", fills_variable=False, options=frozenset({"using"}))
def render_comment_form_link(context: Context, subject: Subject, using: str = "") -> SafeString:
    """Render a link to the page with the form. The comments script, if loaded, replaces the link with the form.

    If the discussion is closed, only an empty element is rendered. The script still needs this element, to show authors
    the comments that they can still change.
    """
    extra = {
        "form_url": target_url("comments-form", subject.target),
        "target": subject.target,
        "is_open": _is_open(context, subject),
    }
    return _render(context, subject, "form_link", using, extra)


@register.simple_tag
def get_comment_permalink(comment: Any, order: str = "") -> str:
    """Return a comment's permalink.

    It opens the page that contains the comment, in `order` or in the discussion's default order.
    """
    _check_order(order)
    urls = CommentUrls.for_target(comment.target, order)
    return urls.permalink + comment.slug + urls.permalink_tail


@register.simple_tag
def get_comment_extra(comment: Any) -> list[tuple[str, str]]:
    """Return the label and the value of each field that the project's form has added to a comment."""
    return forms.extra_items(comment)


@register.simple_tag
def comment_form_target() -> str:
    """Return the URL to which comment forms are submitted."""
    return reverse("comments-post-comment")


@register.simple_tag(takes_context=True)
def get_recent_comments(context: Context, limit: int = 10, label: str = "") -> list[CommentView]:
    """Return the newest comments on objects that readers can see.

    Each comment has an attribute `obj`, the discussed object.
    """
    if label:
        targets.check_registered(label.lower())
    return _read(context, partial(_recent, int(limit), label.lower()), [])


def _recent(limit: int, label: str) -> list[CommentView]:
    # Some comments may be on objects that readers can't see, so read twice as many as needed. There may still be fewer
    # than `limit` left.
    comments = targets.with_objects(selectors.recent(limit * 2, label=label))
    return lists.present_across(comments[:limit])


@register.simple_tag(takes_context=True)
def render_recent_comments(context: Context, limit: int = 10, label: str = "") -> str:
    """Render the newest comments with `comments/recent.html`."""
    extra = {"comments": get_recent_comments(context, limit, label)}
    return select_template(["comments/recent.html"]).render(context.flatten() | extra, context.get("request"))


@register.simple_tag(takes_context=True)
def get_comments_by(context: Context, user: Any, limit: int = 50) -> list[CommentView]:
    """Return a user's comments on objects that readers can see, newest first.

    Each comment has an attribute `obj`, the discussed object.
    """
    if not getattr(user, "pk", None):
        return []
    return _read(context, partial(_written_by, str(user.pk), int(limit)), [])


def _written_by(user: str, limit: int) -> list[CommentView]:
    return lists.present_across(targets.with_objects(selectors.by_author(user, limit=limit)))


def _read(context: Context, read: Callable[[], Any], away: Any) -> Any:
    """Return the result of `read`.

    If comments can't be read at the moment, return `away` or, if `away` is _AWAY, the rendered outage template.
    """
    request = context.get("request")
    try:
        with outages.limit_waiting(vars(request) if request else context.render_context):
            return read()
    except (Outage, DiscussionBusy, DiscussionDamaged):
        # The response doesn't show the comments, so it must not be cached under the version of a discussion.
        versions.note_unversioned()
        return select_template([_AWAY]).render() if away is _AWAY else away


def _listing(
    context: Context, subject: Subject, order: Any = "", page: Any = 0, page_size: Any = None
) -> dict[str, Any]:
    request: HttpRequest | None = context.get("request")
    page_request = PageRequest.from_request(request)
    _check_order(order)
    if not page_request.order:
        page_request = PageRequest(order=str(order), number=int(page or 0))
    result = selectors.requested_page(subject.target, page_request, size=int(page_size) if page_size else None)
    listing = lists.list_context(
        subject,
        result,
        slug=page_request.at,
        url=paging.url_without_part(request) if request else "",
        may_moderate=request is not None and is_sent_by_moderator(request),
    )
    # Remember whether the discussion is open, for a tag that shows the form, or a link to it, in the same template.
    context.render_context[IS_OPEN, subject.target] = listing["is_open"]
    return listing


def _check_order(order: Any) -> None:
    if order and order not in tuple(Order):
        raise template.TemplateSyntaxError(f"The order “{order}” doesn't exist. Use one of: {', '.join(Order)}.")


def _is_open(context: Context, subject: Subject) -> bool:
    known: bool | None = context.render_context.get((IS_OPEN, subject.target))
    return subject.is_open(selectors.discussion(subject.target)) if known is None else known


def _render(context: Context, subject: Subject, name: str, using: str, extra: dict[str, Any]) -> SafeString:
    names = [using] if using else template_names(subject.target, name)
    chosen = select_template(names)
    inner: Template | None = getattr(chosen, "template", None)
    if not isinstance(inner, Template) or not isinstance(context, RequestContext):
        return chosen.render(context.flatten() | extra, context.get("request"))
    # Like {% include %}, use the context of the page, because its context processors have already run.
    with context.push(**extra):
        return inner.render(context)


def _user(context: Context) -> Any:
    request = context.get("request")
    return context.get("user") or getattr(request, "user", None)
