"""The form for a comment. What it is about stands in its signed token, so that nothing can be posted to another place."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from marginalia.comments.errors import InvalidComment
from marginalia.comments.posting import policy, preparation
from marginalia.comments.posting.preparation import MAX_NAME
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Author, Comment, Held, Target

# Of a revision: more than any author makes, fewer than are too many for the database.
MOST_DIGITS = 9
_NOTHING = _("Please write something.")


def measured(text: str) -> None:
    """Validate a text's length, as services do. Raises ValidationError."""
    try:
        preparation.measure(text)
    except InvalidComment as error:
        raise forms.ValidationError(error.sentence, code="max_length") from error


class CommentForm(forms.Form):
    """A new comment. For a logged-in user it asks for the text alone."""

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name", "dir": "auto"}),
        error_messages={"required": _("Please enter your name.")},
    )
    email = forms.EmailField(
        label=_("E-mail"),
        required=False,
        help_text=_("Optional, and never shown."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        error_messages={"invalid": _("Please enter an e-mail address such as name@example.org, or none.")},
    )
    notify = forms.BooleanField(label=_("Notify me of replies by e-mail"), required=False)
    text = forms.CharField(
        label=_("Comment"),
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
        error_messages={"required": _NOTHING},
        validators=[measured],
    )
    token = forms.CharField(widget=forms.HiddenInput)
    # Not seen by people, and named so that programs fill it in. Browsers are told to leave it alone.
    homepage = forms.CharField(
        label=_("Leave this empty"),
        required=False,
        widget=forms.TextInput(attrs={"tabindex": "-1", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, user: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.user = user if getattr(user, "is_authenticated", False) else None
        # With it browsers cut what is pasted and don't report it. The form refuses too long text and keeps all of it.
        for name in ("name", "email"):
            self.fields[name].widget.attrs.pop("maxlength")
        if self.user:
            del self.fields["name"], self.fields["email"]

    def clean(self) -> dict[str, Any]:
        """Ask for an e-mail address to send notices to."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("notify") and "email" not in self.errors and not self.reply_to():
            self.add_error("email" if "email" in self.fields else "notify", _("An address is needed to write to."))
        return data

    def point(self) -> None:
        """Have the page open at the first field that has an error."""
        for name in filter(self.errors.__contains__, self.fields):
            self.fields[name].widget.attrs["autofocus"] = True
            break

    def reply_to(self) -> str:
        """Return where notices of replies go, "" if there is no e-mail address."""
        return str(self.user.email if self.user else self.cleaned_data.get("email", ""))

    def clean_name(self) -> str:
        """Return the name on one line. Raises ValidationError where nothing is left of it."""
        name = preparation.one_line(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError(self.fields["name"].error_messages["required"], code="required")
        return name

    @property
    def author_name(self) -> str:
        """The name that a logged-in user's comment will bear."""
        return shown_name(self.user) if self.user else ""


# A field of an edit in the admin: the form is only to be shown again, with all that was typed; nothing is done.
KEPT = "_kept"


class EditForm(forms.Form):
    """A comment's new text. `rev` is the revision that the author saw, `nonce` names the change."""

    text = forms.CharField(
        label=_("Comment"),
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
        error_messages={"required": _NOTHING},
        validators=[measured],
    )
    # What the server takes for a number: none of ours comes near it.
    rev = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    nonce = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)

    @staticmethod
    def first(comment: Comment | Held) -> dict[str, Any]:
        """Return what the form of a comment begins with."""
        return {"text": comment.source, "rev": comment.rev, "nonce": preparation.new_token()}

    def again(self, rev: int) -> "EditForm":
        """Return the form with what was typed, as another change, of the revision `rev`."""
        return EditForm(initial={"text": self.data["text"], "rev": rev, "nonce": preparation.new_token()})


def blank(target: Target, user: Any = None, parent: str = "") -> CommentForm:
    """Return a form for a new comment, with a token of its own."""
    token = FormToken.new(target, parent, user_key(user))
    return CommentForm(initial={"token": token.signed()}, user=user, auto_id="comment-%s")


def revision(text: str) -> int:
    """Return the revision that a button or a hidden field names, 0 for what names none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else 0


def user_key(user: Any) -> str:
    """Return a logged-in user's primary key as a str, "" without one."""
    return str(user.pk) if getattr(user, "is_authenticated", False) else ""


def shown_name(user: Any) -> str:
    """Return the name under which a user comments: never an e-mail address, also where those serve as user names."""
    names = (user.get_full_name(), user.get_username().partition("@")[0])
    return next(filter(None, map(preparation.one_line, names)), "")[:MAX_NAME]


def author_of(user: Any, name: str) -> Author:
    """Return who writes: the account, or a name without one."""
    if key := user_key(user):
        return Author(name=shown_name(user), id=key, is_moderator=policy.is_moderator(user))
    return Author(name=name)
