"""The tags of `{% load comments %}`; docs/reference/template-tags.md shows each.

Every "for" takes an object or `app.model pk`, and then options: order, page, page_size, using.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django import template
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import HttpRequest
from django.template.base import FilterExpression, Parser, Template, Token, token_kwargs
from django.template.context import Context, RequestContext
from django.template.loader import select_template
from django.urls import reverse
from django.utils.safestring import SafeString

from marginalia.comments import targets
from marginalia.comments.errors import DiscussionBusy, DiscussionDamaged, TargetNotFound
from marginalia.comments.posting import forms
from marginalia.comments.reading import lists, outages, paging, selectors, versions
from marginalia.comments.reading.lists import Subject
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.reading.presenter import CommentUrls, CommentView
from marginalia.comments.types import Order, Target
from marginalia.comments.views import template_names
from marginalia.mongo.servers import Outage

register = template.Library()

IS_OPEN = "comments_is_open"
_AWAY = "comments/away.html"
LIST_OPTIONS = frozenset({"order", "page", "page_size"})


class ForNode(template.Node):
    """A tag with "for": what it is about, its options, the variable it fills, if any, and what it gives `without` an object."""

    def __init__(
        self,
        work: Callable[..., Any],
        obj: FilterExpression | None,
        label: str,
        pk: FilterExpression | None,
        options: dict[str, FilterExpression],
        as_var: str,
        without: Any,
    ) -> None:
        self.work = work
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
            found = partial(self.work, context, subject, **options)
            result = _read(context, found, "" if self.as_var else _AWAY)
        if self.as_var:
            context[self.as_var] = result
            return ""
        return str(result)

    def subject(self, context: Context) -> Subject | None:
        """Return what the tag is about; None for an object that is not there, as Django's own tags render nothing then."""
        if self.obj is None:
            pk = self.pk.resolve(context) if self.pk else None
            return Subject(Target(self.label, str(pk))) if pk not in (None, "") else None
        obj = self.obj.resolve(context, ignore_failures=True)
        if not isinstance(obj, Model | Target):
            return None
        try:
            subject = Subject.of(obj)
        except TargetNotFound:
            return None
        targets.check_registered(subject.target.label)
        return subject


def for_tag(name: str, *, gives: bool, options: frozenset[str] = frozenset(), without: Any = "") -> Callable[..., Any]:
    """Register a function as a tag `{% name for … [option=…] [as variable] %}`; `gives`: it must fill a variable, with
    `without` where the object is not there."""

    def registered(work: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(parser: Parser, token: Token) -> ForNode:
            return _compile(parser, token, work, gives, options, without)

        register.tag(name, compiled)
        return work

    return registered


def _compile(
    parser: Parser, token: Token, work: Callable[..., Any], gives: bool, allowed: frozenset[str], without: Any
) -> ForNode:
    name, *bits = token.split_contents()
    if len(bits) < 2 or bits[0] != "for":
        raise template.TemplateSyntaxError(
            f"{{% {name} %}} begins with “for” and an object, or with “for app.model pk”."
        )
    bits, as_var = _without_as(name, bits[1:], gives)
    positional = []
    while bits and not token_kwargs(bits[:1], parser):
        positional.append(bits.pop(0))
    options = token_kwargs(bits, parser)
    if bits or not 1 <= len(positional) <= 2:
        raise template.TemplateSyntaxError(f"{{% {name} %}} cannot make sense of “{token.contents}”.")
    if unknown := set(options) - allowed:
        raise template.TemplateSyntaxError(f"{{% {name} %}} has no option {', '.join(sorted(unknown))}.")
    if len(positional) == 1:
        return ForNode(work, parser.compile_filter(positional[0]), "", None, options, as_var, without)
    pk = parser.compile_filter(positional[1])
    return ForNode(work, None, _label(name, positional[0]), pk, options, as_var, without)


def _without_as(name: str, bits: list[str], gives: bool) -> tuple[list[str], str]:
    """Return the bits before "as", and the variable after it."""
    if gives != (len(bits) > 2 and bits[-2] == "as"):
        raise template.TemplateSyntaxError(f"{{% {name} %}} {'ends in “as variable”' if gives else 'takes no “as”'}.")
    return (bits[:-2], bits[-1]) if gives else (bits, "")


def _label(name: str, text: str) -> str:
    """Return the label of a model that a template names in any letters, as Django's own settings do."""
    try:
        label = targets.model_of(text.lower())._meta.label_lower
        targets.check_registered(label)
        return label
    except (TargetNotFound, ImproperlyConfigured) as error:
        raise template.TemplateSyntaxError(f"{{% {name} %}}: {error}") from error


@for_tag("get_comment_count", gives=True, without=0)
def get_comment_count(context: Context, subject: Subject) -> int:
    """How many public comments."""
    return selectors.count(subject.target)


@for_tag("get_comment_list", gives=True, options=LIST_OPTIONS, without=())
def get_comment_list(context: Context, subject: Subject, **options: Any) -> Sequence[CommentView]:
    """One page of comments, to loop over."""
    return _listing(context, subject, **options)["comments"]


@for_tag("render_comment_list", gives=False, options=LIST_OPTIONS | {"using"})
def render_comment_list(context: Context, subject: Subject, using: str = "", **options: Any) -> SafeString:
    """One page of comments with links to the others, through `comments/list.html`."""
    return _render(context, subject, "list", using, _listing(context, subject, **options))


@for_tag("get_comment_form", gives=True)
def get_comment_form(context: Context, subject: Subject) -> forms.CommentForm:
    """A form for a new comment."""
    return forms.blank(subject.target, _user(context))


@for_tag("render_comment_form", gives=False, options=frozenset({"using"}))
def render_comment_form(context: Context, subject: Subject, using: str = "") -> SafeString:
    """A form for a new comment, inline, while any are taken. The page is then one reader's own: a cache must not keep it for
    others."""
    if not _is_open(context, subject):
        return SafeString()
    form = forms.blank(subject.target, _user(context))
    return _render(context, subject, "form", using, {"form": form, "target": subject.target})


@for_tag("render_comment_form_link", gives=False, options=frozenset({"using"}))
def render_comment_form_link(context: Context, subject: Subject, using: str = "") -> SafeString:
    """A link to the form's own page; a script, where there is one, fetches the form into its place. Where a discussion takes
    no comments there is no link, only the place: authors may still change what they wrote."""
    url = reverse("comments-form", args=[subject.target.label, subject.target.pk])
    more = {"form_url": url, "target": subject.target, "is_open": _is_open(context, subject)}
    return _render(context, subject, "form_link", using, more)


@register.simple_tag
def get_comment_permalink(comment: Any, order: str = "") -> str:
    """Return the address that opens the page with a comment, also in another order than the discussion's own."""
    _check(order)
    urls = CommentUrls.of(comment.target, order)
    return urls.permalink + comment.slug + urls.permalink_tail


@register.simple_tag
def comment_form_target() -> str:
    """Return the address that forms are sent to."""
    return reverse("comments-post-comment")


@register.simple_tag(takes_context=True)
def get_recent_comments(context: Context, limit: int = 10, label: str = "") -> list[CommentView]:
    """Return the newest comments on whatever readers may see; each has `obj`, what it is about."""
    if label:
        targets.check_registered(label.lower())
    return _read(context, partial(_recent, int(limit), label.lower()), [])


def _recent(limit: int, label: str) -> list[CommentView]:
    # Some may be on what is not public: a few more are asked for, never all.
    found = targets.with_objects(selectors.recent(limit * 2, label=label))
    return lists.scattered(found[:limit])


@register.simple_tag(takes_context=True)
def render_recent_comments(context: Context, limit: int = 10, label: str = "") -> str:
    """Show the newest comments through `comments/recent.html`."""
    more = {"comments": get_recent_comments(context, limit, label)}
    return select_template(["comments/recent.html"]).render(context.flatten() | more, context.get("request"))


@register.simple_tag(takes_context=True)
def get_comments_by(context: Context, user: Any, limit: int = 50) -> list[CommentView]:
    """Return a user's comments, newest first, on whatever readers may see; each has `obj`."""
    if not getattr(user, "pk", None):
        return []
    return _read(context, partial(_written_by, str(user.pk), int(limit)), [])


def _written_by(user: str, limit: int) -> list[CommentView]:
    return lists.scattered(targets.with_objects(selectors.by_author(user, limit=limit)))


def _read(context: Context, work: Callable[[], Any], away: Any) -> Any:
    """Return what `work` reads; where it cannot be read now, what is given in its place: _AWAY stands for a template."""
    request = context.get("request")
    try:
        with outages.noted(vars(request) if request else context.render_context):
            return work()
    except (Outage, DiscussionBusy, DiscussionDamaged):
        # No version of a discussion stands for this.
        versions.note_fleeting()
        return select_template([_AWAY]).render() if away is _AWAY else away


def _listing(
    context: Context, subject: Subject, order: Any = "", page: Any = 0, page_size: Any = None
) -> dict[str, Any]:
    request: HttpRequest | None = context.get("request")
    wanted = PageRequest.of(request)
    _check(order)
    if not wanted.order:
        wanted = PageRequest(order=str(order), number=int(page or 0))
    found = selectors.requested(subject.target, wanted, size=int(page_size) if page_size else None)
    listing = lists.listing(subject, found, at=wanted.at, address=paging.shown_at(request) if request else "")
    # For a link to the form in the same template.
    context.render_context[IS_OPEN, subject.target] = listing["is_open"]
    return listing


def _check(order: Any) -> None:
    if order and order not in tuple(Order):
        raise template.TemplateSyntaxError(f"There is no order “{order}”: give {', '.join(Order)}.")


def _is_open(context: Context, subject: Subject) -> bool:
    known: bool | None = context.render_context.get((IS_OPEN, subject.target))
    return subject.is_open(selectors.discussion(subject.target)) if known is None else known


def _render(context: Context, subject: Subject, name: str, using: str, more: dict[str, Any]) -> SafeString:
    names = [using] if using else template_names(subject.target, name)
    found = select_template(names)
    inner: Template | None = getattr(found, "template", None)
    if not isinstance(inner, Template) or not isinstance(context, RequestContext):
        return found.render(context.flatten() | more, context.get("request"))
    # As {% include %} does: in the page's own context, whose processors have run already.
    with context.push(**more):
        return inner.render(context)


def _user(context: Context) -> Any:
    request = context.get("request")
    return context.get("user") or getattr(request, "user", None)
