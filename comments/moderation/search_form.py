"""The form with which moderators search the comments of all discussions. The API checks its parameters with it, too."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.comments import conf, targets, terms
from marginalia.comments.errors import CommentNotFound, InvalidBan
from marginalia.comments.moderation import bans, batches
from marginalia.comments.types import Selection, State, Target, TermKind, Verdict

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
    ("removed", gettext_lazy("Hidden or deleted")),
)
_DATE: dict[str, Any] = {
    "required": False,
    "widget": forms.DateInput(attrs={"type": "date"}),
    # Times at the ends of the calendar can't be converted to other time zones.
    "validators": [MinValueValidator(date(1970, 1, 1)), MaxValueValidator(date(9998, 12, 31))],
}


class SearchForm(forms.Form):
    """The form of the search. If it is valid, `selection` is what it finds.

    `term` and `like` are set only by links: `term` is a term, and `like` the discussion and slug of a comment.
    """

    q = forms.CharField(label=gettext_lazy("Text"), required=False, max_length=terms.MAX_PATTERN)
    author = forms.CharField(label=gettext_lazy("Author"), required=False, max_length=200)
    link = forms.CharField(label=gettext_lazy("Link to domain"), required=False, max_length=500)
    network = forms.CharField(label=gettext_lazy("Network"), required=False, max_length=100)
    section = forms.ChoiceField(label=gettext_lazy("Section"), required=False)
    model = forms.ChoiceField(label=gettext_lazy("Comments on"), required=False)
    since = forms.DateField(label=gettext_lazy("From"), **_DATE)
    until = forms.DateField(label=gettext_lazy("To"), **_DATE)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=STATE_LABELS)
    term = forms.CharField(required=False, widget=forms.HiddenInput)
    like = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, label_suffix="", auto_id="search-%s")
        self.sections = conf.load("SECTIONS")()
        self._offer("section", self.sections.choices(), least=1)
        models = [(str(meta.label_lower), capfirst(str(meta.verbose_name_plural))) for meta in _registered()]
        self._offer("model", models, least=2)
        self.parts: list[Selection] = []

    def _offer(self, name: str, choices: list[tuple[str, str]], *, least: int) -> None:
        """Set the choices of a field. If there are fewer than `least`, remove the field."""
        self.fields[name].choices = [("", "---------"), *choices]
        if len(choices) < least:
            del self.fields[name]

    @property
    def states(self) -> States:
        """Return the states of the comments that the search finds."""
        return STATES[self.cleaned_data["state"]]

    @property
    def is_narrow(self) -> bool:
        """Return whether the search has filters, apart from the state.

        A search without filters finds every comment of the site, so these must not all be changed by mistake.
        """
        return self.selection() != Selection()

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
        parts = [batches.of_pattern(data["q"]), *self.parts]
        section = data.get("section")
        models = (TermKind.MODEL.term(data["model"]),) if data.get("model") else ()
        return Selection(
            terms=(*(term for part in parts for term in part.terms), *_author_terms(data["author"]), *models),
            prefixes=tuple(prefix for part in parts for prefix in part.prefixes),
            alike=next((part.alike for part in parts if part.alike), ()),
            network=next((part.network for part in parts if part.network), ""),
            discussions=tuple(target.id for target in self.sections.targets(section)) if section else None,
            since=_midnight(data["since"]),
            until=_midnight(data["until"], timedelta(days=1)),
        )


def _registered() -> list[Any]:
    return [model._meta for model in targets.registered()]


def _author_terms(typed: str) -> tuple[str, ...]:
    """Return the term for an email address or a name, or nothing if no author was typed."""
    if not typed.strip():
        return ()
    if "@" in typed:
        return (TermKind.EMAIL.term(typed.strip().lower()),)
    return (TermKind.NAME.term(terms.fold_name(typed)),)


def _midnight(day: date | None, later: timedelta = timedelta()) -> datetime | None:
    return timezone.make_aware(datetime.combine(day, time.min) + later) if day else None
