"""The forms for comments.

The form's signed token contains the target of the new comment, so the comment can't be posted anywhere else.
"""

from typing import Any

from django import forms
from django.core.validators import EMPTY_VALUES
from django.forms.utils import pretty_name
from django.utils.translation import gettext_lazy as _

from marginalia.comments import conf, targets
from marginalia.comments.errors import InvalidComment
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import preparation
from marginalia.comments.posting.preparation import MAX_NAME
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Comment, CommentAuthor, HeldComment, Target

# Maximum number of digits in a revision number. Real revision numbers are much shorter, and longer numbers could be too
# large for the database.
MAX_DIGITS = 9


def validate_length(text: str) -> None:
    """Check the length of the text, with the same limit as the functions in `services`.

    Raises:
        ValidationError: The text is empty or too long.
    """
    try:
        preparation.check_length(text)
    except InvalidComment as error:
        raise forms.ValidationError(error.sentence, code="max_length") from error


class TextForm(forms.Form):
    """A form with the text of a comment."""

    text = forms.CharField(
        label=_("Comment"),
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
        error_messages={"required": _("Enter a comment.")},
        validators=[validate_length],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)

    @property
    def max_length(self) -> int:
        """Return the maximum number of characters of the text."""
        return int(conf.get("MAX_LENGTH"))


class CommentForm(TextForm):
    """The form for a new comment. Logged-in users don't see the fields for the name and the email address.

    To add fields, derive a class and pass it to `comments.register`. The values of the added fields are stored in
    `Comment.extra`.
    """

    field_order = ("name", "email", "text")
    email_required = _("Enter an email address to be notified of replies.")

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name", "dir": "auto"}),
        error_messages={"required": _("Enter your name.")},
    )
    email = forms.EmailField(
        label=_("Email"),
        required=False,
        help_text=_("Optional. Your email address is never shown."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        error_messages={"invalid": _("Enter an email address such as name@example.org, or leave this field empty.")},
    )
    notify = forms.BooleanField(label=_("Email me about replies"), required=False)
    token = forms.CharField(widget=forms.HiddenInput)
    # A honeypot. People can't see this field, but its name attracts spam bots, which fill it in. The `autocomplete`
    # attribute tells browsers not to do the same.
    homepage = forms.CharField(
        label=_("Leave this empty"),
        required=False,
        widget=forms.TextInput(attrs={"tabindex": "-1", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, user: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user if getattr(user, "is_authenticated", False) else None
        # Leave out `maxlength`, because browsers would then truncate pasted text without a message. If a value is too
        # long, the form is rejected instead, and shown again with the complete value.
        for name in ("name", "email"):
            self.fields[name].widget.attrs.pop("maxlength")
        if self.user:
            del self.fields["name"], self.fields["email"]

    def clean(self) -> dict[str, Any]:
        """Require an email address if the author wants emails about replies."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("notify") and "email" not in self.errors and not self.notice_email():
            self.add_error("email" if "email" in self.fields else "notify", self.email_required)
        return data

    def extra_fields(self) -> list[forms.BoundField]:
        """Return the fields that a derived class has added."""
        return [self[name] for name in self.fields if name not in CommentForm.base_fields]

    def extra(self) -> dict[str, Any]:
        """Return the values of the added fields that aren't empty.

        Override this method if a value is of a type that `DjangoJSONEncoder` can't encode, such as a model instance.
        """
        values = {bound.name: self.cleaned_data.get(bound.name) for bound in self.extra_fields()}
        return {name: value for name, value in values.items() if value not in EMPTY_VALUES}

    def focus_first_error(self) -> None:
        """Give the focus to the first field with an error."""
        for name in filter(self.errors.__contains__, self.fields):
            self.fields[name].widget.attrs["autofocus"] = True
            break

    def notice_email(self) -> str:
        """Return the email address to which emails about replies would be sent, or "" if there is none."""
        return str(self.user.email if self.user else self.cleaned_data.get("email", ""))

    def clean_name(self) -> str:
        """Return the name as a single line.

        Raises:
            ValidationError: The name contains no visible characters.
        """
        name = preparation.one_line(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError(self.fields["name"].error_messages["required"], code="required")
        return name

    @property
    def author_name(self) -> str:
        """Return the name that is shown with the comment if the user is logged in, and otherwise ""."""
        return display_name(self.user) if self.user else ""


# The name of a field of the admin's edit form. If the submitted data contains this field, the form is shown again with
# the text that was typed, and the comment is not changed.
RESHOW = "_kept"


class EditForm(TextForm):
    """The form for the new text of a comment.

    `rev` is the revision that the user saw. `nonce` identifies the change.
    """

    # This maximum is MongoDB's limit for an int. Real revisions are much lower.
    rev = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    nonce = forms.CharField(max_length=64, widget=forms.HiddenInput)

    @staticmethod
    def initial_data(comment: Comment | HeldComment) -> dict[str, Any]:
        """Return the initial data of the form for `comment`."""
        return {"text": comment.source, "rev": comment.rev, "nonce": preparation.new_token()}

    def renew(self, rev: int) -> "EditForm":
        """Return a form that sends the same text again, as a new change to the revision `rev`."""
        return EditForm(initial={"text": self.data["text"], "rev": rev, "nonce": preparation.new_token()})


def form_class(target: Target) -> type[CommentForm]:
    """Return the class of the forms for new comments on a target."""
    return targets.form_class(target.label) or CommentForm


def extra_items(comment: Comment | HeldComment) -> list[tuple[str, str]]:
    """Return the label and the value of each added field of a comment, as text."""
    fields = form_class(comment.target).base_fields
    return [(_label(name, fields.get(name)), _text(value)) for name, value in comment.extra.items()]


def _label(name: str, field: forms.Field | None) -> str:
    return str(field.label if field and field.label else pretty_name(name))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def blank_form(target: Target, user: Any = None, parent: str = "") -> CommentForm:
    """Return an empty form for a new comment, with a new token."""
    token = FormToken.new(target, parent, user_key(user))
    return form_class(target)(initial={"token": token.signed()}, user=user, auto_id="comment-%s")


def parse_revision(text: str) -> int:
    """Return the revision that a button or a hidden field contains, or 0 if its value is not a number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0


def user_key(user: Any) -> str:
    """Return the primary key of a logged-in user as a str, or "" for anonymous visitors."""
    return str(user.pk) if getattr(user, "is_authenticated", False) else ""


def display_name(user: Any) -> str:
    """Return the name that is shown with a user's comments.

    The name is never an email address, even if the site uses email addresses as user names.
    """
    names = (user.get_full_name(), user.get_username().partition("@")[0])
    return next(filter(None, map(preparation.one_line, names)), "")[:MAX_NAME]


def build_author(user: Any, name: str) -> CommentAuthor:
    """Return the author of a comment: the account of `user` if there is one, and otherwise just `name`.

    If the user has an attribute `comment_picture`, it must be the URL of a picture, or "".
    """
    if key := user_key(user):
        picture = getattr(user, "comment_picture", "")
        return CommentAuthor(name=display_name(user), id=key, is_moderator=is_moderator(user), picture=picture)
    return CommentAuthor(name=name)
