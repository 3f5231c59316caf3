"""Admin pages for bans: the list, and the form that shows what a new ban would hide."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.comments import accounts
from marginalia.comments.errors import InvalidBan
from marginalia.comments.moderation import bans, batches
from marginalia.comments.moderation.bans import Term
from marginalia.comments.posting.services import Sender
from marginalia.comments.types import Comment, HeldComment, Target, TermKind
from marginalia.mongo.clock import now

PAGE_SIZE = 50
LABELS = {
    TermKind.ACCOUNT: gettext_lazy("Account"),
    TermKind.NETWORK: gettext_lazy("Network"),
    TermKind.EMAIL: gettext_lazy("Email address"),
    TermKind.EMAIL_DOMAIN: gettext_lazy("Email domain"),
    TermKind.LINK_DOMAIN: gettext_lazy("Links to a domain"),
    TermKind.PATTERN: gettext_lazy("Words"),
}
DURATIONS = (
    ("", gettext_lazy("Permanently")),
    ("1", gettext_lazy("1 day")),
    ("7", gettext_lazy("1 week")),
    ("30", gettext_lazy("1 month")),
    ("365", gettext_lazy("1 year")),
)


def describe_term(term: str) -> str:
    """Return the kind and the value of a term in its text form, for moderators, or "" if it isn't a term."""
    kind, _colon, value = term.partition(":")
    return f"{LABELS[TermKind(kind)]}: {bans.describe(Term(TermKind(kind), value))}" if kind in LABELS else ""


class BanForm(forms.Form):
    """The form for a new ban. If it is valid, `term` is what is banned."""

    kind = forms.ChoiceField(label=gettext_lazy("Ban"), choices=list(LABELS.items()))
    value = forms.CharField(
        label=gettext_lazy("Value"),
        max_length=500,
        help_text=gettext_lazy(
            "A user name, a network such as 203.0.113.0/24, an email address or domain, or words that a comment must "
            "all contain. A word that ends with * stands for all words that begin with it."
        ),
    )
    days = forms.ChoiceField(label=gettext_lazy("Duration"), choices=DURATIONS, required=False)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=bans.MAX_REASON,
        required=False,
        help_text=gettext_lazy("Optional. Only moderators see the reason."),
    )

    term: Term | None = None

    def clean(self) -> dict[str, Any]:
        """Check the value."""
        data: dict[str, Any] = super().clean() or {}
        if "kind" in data and "value" in data:
            try:
                self.term = bans.parse(data["kind"], data["value"])
            except InvalidBan as error:
                self.add_error("value", error.sentence)
        return data


class BanPages:
    """The pages of ModerationAdmin for bans."""

    _page: Any

    def bans(self, request: HttpRequest) -> HttpResponse:
        """Show the bans, newest first."""
        typed = request.GET.get("q", "")
        found = bans.find(typed, limit=PAGE_SIZE + 1, after=request.GET.get("after", ""))
        shown = found[:PAGE_SIZE]
        more = urlencode({"q": typed, "after": shown[-1].id}) if len(found) > PAGE_SIZE else ""
        moderators = {key: accounts.find(key) or key for key in {ban.by for ban in shown if ban.by}}
        rows = [
            {"ban": ban, "kind": LABELS[ban.kind], "name": bans.describe(ban), "moderator": moderators.get(ban.by, "")}
            for ban in shown
        ]
        return self._page(request, "bans", _("Bans"), rows=rows, typed=typed, more=more, state="bans")

    def lift_ban(self, request: HttpRequest, ban_id: str) -> HttpResponse:
        """Lift a ban."""
        if request.method != "POST":
            raise Http404
        if ban := bans.lift(Sender(request, ()), ban_id):
            messages.success(request, _("The ban of “%(name)s” was lifted.") % {"name": bans.describe(ban)})
        return HttpResponseRedirect(reverse("admin:marginalia_comments_moderation_bans"))

    def add_ban(self, request: HttpRequest) -> HttpResponse:
        """Show the form for a ban, and what the ban would hide. On POST, ban, and hide comments if requested."""
        data = request.POST if request.method == "POST" else request.GET
        typed = data if "value" in data else None
        form = BanForm(typed, initial={"kind": TermKind.LINK_DOMAIN}, label_suffix="", auto_id="ban-%s")
        if request.method == "POST" and form.is_valid() and (url := self._ban(request, form)):
            return HttpResponseRedirect(url)
        comment = commented(data)
        context = {
            "form": form,
            "on": data.get("on", ""),
            "slug": data.get("slug", ""),
            "comment": comment,
            "suggestions": [_suggestion(term, data) for term in bans.suggest(comment)] if comment else [],
            "counted": batches.count(batches.of_term(form.term)) if form.is_valid() and form.term else None,
            "state": "bans",
        }
        return self._page(request, "ban", _("New ban"), **context)

    def _ban(self, request: HttpRequest, form: BanForm) -> str:
        """Store a ban. Return the URL of the next page, or "" if the form has to be shown again."""
        sender = Sender(request, ())
        term = form.term
        assert term is not None
        days = form.cleaned_data["days"]
        expires = now() + timedelta(days=int(days)) if days else None
        try:
            bans.ban(sender, term, reason=form.cleaned_data["reason"], expires=expires)
        except InvalidBan as error:
            form.add_error("value", error.sentence)
            return ""
        messages.success(request, _("“%(name)s” was banned.") % {"name": bans.describe(term)})
        if "hide" not in request.POST:
            return reverse("admin:marginalia_comments_moderation_bans")
        batch = batches.hide(sender, batches.of_term(term), what=str(term))
        return reverse("admin:marginalia_comments_moderation_batch", args=[batch.id])


def commented(data: Any) -> Comment | HeldComment | None:
    """Return the comment that a page of the admin is about, or None if the request mentions none.

    Raises:
        CommentNotFound: There is no such comment.
    """
    if not data.get("on") or not data.get("slug"):
        return None
    return batches.get_comment(Target.parse(data["on"]), data["slug"])


def _suggestion(term: Term, data: Any) -> dict[str, Any]:
    query = {"on": data["on"], "slug": data["slug"], "kind": term.kind.value, "value": term.value}
    return {
        "kind": LABELS[term.kind],
        "name": bans.describe(term),
        "url": "?" + urlencode(query),
        "counted": batches.count(batches.of_term(term)),
    }
