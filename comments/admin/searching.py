"""The admin page that searches the comments of all discussions, with actions on the comments that it finds."""

from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from marginalia.comments import conf, terms
from marginalia.comments.admin.bans import LABELS
from marginalia.comments.admin.batches import batch_url
from marginalia.comments.errors import CommentError, CommentNotFound, InvalidBan
from marginalia.comments.moderation import actions, bans, batches, searches
from marginalia.comments.posting.services import Sender
from marginalia.comments.types import Selection, State, Target, TermKind, Verdict

PAGE_SIZE = 50
States = tuple[State | Verdict, ...]
STATES: dict[str, States] = {
    "": (State.PUBLIC, Verdict.WAITING),
    "public": (State.PUBLIC,),
    "waiting": (Verdict.WAITING,),
    "spam": (Verdict.SPAM,),
    "rejected": (Verdict.REJECTED,),
    "removed": (State.REMOVED,),
}
STATE_LABELS = (
    ("", gettext_lazy("Published and pending")),
    ("public", gettext_lazy("Published")),
    ("waiting", gettext_lazy("Pending")),
    ("spam", gettext_lazy("Spam")),
    ("rejected", gettext_lazy("Rejected")),
    ("removed", gettext_lazy("Removed")),
)
_DATE = forms.DateInput(attrs={"type": "date"})


class SearchForm(forms.Form):
    """The form of the search. If it is valid, `selection` is what it finds.

    `term` and `like` are set only by links: `term` is a term, and `like` the discussion and slug of a comment.
    """

    q = forms.CharField(label=gettext_lazy("Text"), required=False, max_length=terms.MAX_PATTERN)
    writer = forms.CharField(label=gettext_lazy("Writer"), required=False, max_length=200)
    link = forms.CharField(label=gettext_lazy("Link to domain"), required=False, max_length=500)
    network = forms.CharField(label=gettext_lazy("Network"), required=False, max_length=100)
    section = forms.ChoiceField(label=gettext_lazy("Section"), required=False)
    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=_DATE)
    until = forms.DateField(label=gettext_lazy("To"), required=False, widget=_DATE)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=STATE_LABELS)
    term = forms.CharField(required=False, widget=forms.HiddenInput)
    like = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any) -> None:
        super().__init__(data, label_suffix="", auto_id="search-%s")
        self.sections = conf.load("SECTIONS")()
        self.fields["section"].choices = [("", "---------"), *self.sections.choices()]
        if not self.sections.choices():
            del self.fields["section"]
        self.parts: list[Selection] = []

    @property
    def states(self) -> States:
        """Return the states of the comments that the search finds."""
        return STATES[self.cleaned_data["state"]]

    @property
    def can_hide_all(self) -> bool:
        """Return whether all comments that the search finds can be hidden at once.

        A search without filters finds every comment of the site, so they must not be hidden by mistake.
        """
        return not self.cleaned_data["state"] and self.selection() != Selection()

    def clean(self) -> dict[str, Any]:
        """Check the fields that have to be valid terms."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("q") and not terms.Pattern.parse(data["q"]):
            self.add_error("q", _("Enter at least one word."))
        typed = {"link": TermKind.LINK_DOMAIN, "network": TermKind.NETWORK}
        for name, kind in typed.items():
            if data.get(name):
                self._add(name, kind, data[name])
        if data.get("term"):
            kind, _colon, value = data["term"].partition(":")
            self._add("term", kind, value)
        if data.get("like"):
            self._add_like(data["like"])
        return data

    def _add(self, name: str, kind: str, value: str) -> None:
        try:
            self.parts.append(batches.of_term(bans.parse(kind, value)))
        except InvalidBan as error:
            self.add_error(name, error.sentence)

    def _add_like(self, place: str) -> None:
        target, _space, slug = place.partition(" ")
        try:
            alike = batches.shingles(batches.get_comment(Target.parse(target), slug))
        except CommentNotFound as error:
            self.add_error("like", error.sentence)
        else:
            self.parts += [alike] if alike else []

    def selection(self) -> Selection:
        """Return the comments that the search finds."""
        data = self.cleaned_data
        words = batches.of_pattern(data["q"])
        parts = [words, *self.parts]
        section = data.get("section")
        return Selection(
            terms=(*(term for part in parts for term in part.terms), *_writer_terms(data["writer"])),
            prefixes=words.prefixes,
            alike=next((part.alike for part in parts if part.alike), ()),
            network=next((part.network for part in parts if part.network), ""),
            discussions=tuple(target.id for target in self.sections.targets(section)) if section else None,
            since=_midnight(data["since"]),
            until=_midnight(data["until"], timedelta(days=1)),
        )


def _writer_terms(typed: str) -> tuple[str, ...]:
    """Return the term for a name, an email address, or the user name of an account."""
    if not typed.strip():
        return ()
    if "@" in typed:
        return (TermKind.EMAIL.term(typed.strip().lower()),)
    return (TermKind.NAME.term(terms.fold_name(typed)),)


def _midnight(date: Any, later: timedelta = timedelta()) -> datetime | None:
    return timezone.make_aware(datetime.combine(date, time.min) + later) if date else None


class SearchPages:
    """The page of ModerationAdmin that searches comments."""

    _page: Any

    def search(self, request: HttpRequest) -> HttpResponse:
        """Show the comments that match the form, newest first. On POST, apply an action to them."""
        form = SearchForm(request.GET)
        is_valid = form.is_valid()
        if request.method == "POST" and is_valid:
            return HttpResponseRedirect(self._apply(request, form) or request.get_full_path())
        found = (
            searches.find(form.selection(), form.states, limit=PAGE_SIZE + 1, before=_cursor(request))
            if is_valid
            else []
        )
        shown = found[:PAGE_SIZE]
        query = {name: value for name, value in request.GET.items() if value and name != "before"}
        more = {**query, "before": f"{shown[-1].posted.isoformat()} {shown[-1].id}"} if len(found) > PAGE_SIZE else {}
        context = {
            "form": form,
            "hits": [_row(hit) for hit in searches.with_texts(shown)],
            "counted": batches.count(form.selection()) if is_valid and form.can_hide_all else None,
            "term": _describe(form) if is_valid else "",
            "more": urlencode(more),
            "is_filtered": bool(query),
            "filters_open": bool(form.errors or query.keys() - {"q", "term", "like"}),
            "state": "search",
            "chosen_state": request.GET.get("state", ""),
        }
        return self._page(request, "search", _("Search comments"), **context)

    def _apply(self, request: HttpRequest, form: SearchForm) -> str:
        """Apply an action to the selected comments, or to all that were found. Return the URL of the next page."""
        sender = Sender(request, ())
        action = request.POST.get("action", "")
        chosen = [tuple(place.split(" ", 1)) for place in request.POST.getlist("chosen") if " " in place]
        if action == "all" and form.can_hide_all:
            return batch_url(batches.hide(sender, form.selection()))
        if not chosen:
            messages.warning(request, _("Select one or more comments first."))
        elif action in ("spam", "rejected"):
            places = tuple((Target.parse(name).id, slug) for name, slug in chosen)
            return batch_url(batches.hide(sender, Selection(comments=places), verdict=Verdict(action)))
        elif action in ("approve", "restore"):
            self._publish(request, [(Target.parse(name), slug) for name, slug in chosen])
        return ""

    def _publish(self, request: HttpRequest, places: list[tuple[Target, str]]) -> None:
        """Restore removed comments, and approve queued ones."""
        sender = Sender(request, ())
        done = 0
        for target, slug in places:
            try:
                actions.publish(sender, target, slug)
                done += 1
            except CommentError as error:
                messages.error(request, error.sentence)
        if done:
            text = ngettext("%(n)d comment was published.", "%(n)d comments were published.", done)
            messages.success(request, text % {"n": done})


def _cursor(request: HttpRequest) -> tuple[datetime, str] | None:
    posted, _space, key = request.GET.get("before", "").partition(" ")
    try:
        moment = datetime.fromisoformat(posted)
    except ValueError:
        return None
    return (moment, key) if moment.tzinfo and len(key) == 24 and key.isalnum() else None


def _describe(form: SearchForm) -> str:
    """Return what a link to the search asked for, or ""."""
    if form.cleaned_data["like"]:
        return _("Similar text")
    kind, _colon, value = form.cleaned_data["term"].partition(":")
    return f"{LABELS[TermKind(kind)]}: {bans.describe(bans.Term(TermKind(kind), value))}" if kind else ""


def _row(hit: searches.Hit) -> dict[str, Any]:
    """Return the template context of a comment. Its HTML was sanitized before it was stored."""
    comment = hit.comment
    place = [comment.target.label, comment.target.pk, comment.slug]
    page = "" if hit.found.held_id else reverse("admin:marginalia_comments_moderation_comment", args=place)
    return {
        "hit": hit,
        "comment": comment,
        "text": SafeString(comment.html),
        "state": dict(STATE_LABELS).get(hit.found.state.value, hit.found.state.value),
        "value": f"{comment.target} {comment.slug}",
        "page": page,
        "alike": reverse("admin:marginalia_comments_moderation_alike", args=place),
    }
