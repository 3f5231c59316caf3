"""The form with which moderators change the restrictions of a discussion."""

from datetime import datetime, time
from typing import Any

from django import forms
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from marginalia.comments.types import Discussion, RestrictionChanges, Restrictions

SLOW_CHOICES = (
    (0, _("as often as they like")),
    (30, _("every 30 seconds")),
    (60, _("every minute")),
    (300, _("every 5 minutes")),
    (900, _("every 15 minutes")),
    (3_600, _("every hour")),
)
_DATETIME = "%Y-%m-%dT%H:%M"


class DiscussionForm(forms.Form):
    """The restrictions of a discussion. Each field has a hidden initial value.

    Therefore, a field that another moderator has changed since the form was opened isn't changed back.
    """

    is_open = forms.BooleanField(label=_("Accept comments"), required=False, show_hidden_initial=True)
    slow_seconds = forms.TypedChoiceField(
        label=_("Each writer can comment"), choices=SLOW_CHOICES, coerce=int, show_hidden_initial=True
    )
    hold_until = forms.DateTimeField(
        label=_("Every comment needs approval until"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format=_DATETIME),
        show_hidden_initial=True,
    )
    opens = forms.TimeField(
        label=_("Open daily from"),
        required=False,
        widget=forms.TimeInput({"type": "time"}, format="%H:%M"),
        show_hidden_initial=True,
    )
    closes = forms.TimeField(
        label=_("Open daily until"),
        required=False,
        widget=forms.TimeInput({"type": "time"}, format="%H:%M"),
        show_hidden_initial=True,
    )

    def __init__(self, discussion: Discussion, data: Any = None) -> None:
        given = discussion.restrictions
        opens, closes = (time(*divmod(minute, 60)) for minute in given.hours) if given.hours else (None, None)
        initial = {
            "is_open": discussion.open,
            "slow_seconds": given.slow_seconds,
            "hold_until": localtime(given.hold_until).replace(second=0, microsecond=0) if given.hold_until else None,
            "opens": opens,
            "closes": closes,
        }
        super().__init__(data, initial=initial, label_suffix="")
        if given.slow_seconds not in dict(SLOW_CHOICES):  # the API accepts any number
            field = self.fields["slow_seconds"]
            assert isinstance(field, forms.TypedChoiceField)
            field.choices = [*SLOW_CHOICES, (given.slow_seconds, f"{given.slow_seconds} s")]

    def clean_hold_until(self) -> datetime | None:
        """Return the time, or raise ValidationError if it is out of range."""
        until: datetime | None = self.cleaned_data["hold_until"]
        try:
            Restrictions(hold_until=until)
        except ValueError as error:
            raise forms.ValidationError(_("Choose an earlier time.")) from error
        return until

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        opens, closes = data.get("opens"), data.get("closes")
        if (opens is None) != (closes is None) and not {"opens", "closes"} & self.errors.keys():
            self.add_error("closes" if closes is None else "opens", _("Enter both times, or neither."))
        elif opens is not None and opens == closes:
            self.add_error("closes", _("Enter two different times."))
        return data

    def changes(self) -> RestrictionChanges:
        """Return the changed restrictions."""
        changes: RestrictionChanges = {}
        if "slow_seconds" in self.changed_data:
            changes["slow_seconds"] = self.cleaned_data["slow_seconds"]
        if "hold_until" in self.changed_data:
            changes["hold_until"] = self.cleaned_data["hold_until"]
        if {"opens", "closes"} & set(self.changed_data):
            opens, closes = self.cleaned_data["opens"], self.cleaned_data["closes"]
            changes["hours"] = (_minute(opens), _minute(closes)) if opens is not None else None
        return changes


def _minute(moment: time) -> int:
    return 60 * moment.hour + moment.minute
