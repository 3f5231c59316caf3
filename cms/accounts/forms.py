"""The forms for inviting people, for changing accounts and names, and for accepting an invitation."""

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import SetPasswordForm, UserChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.accounts import invitations
from marginalia.markup.characters import is_blank


def _require_unused(email: str, account: User) -> None:
    """Raise a ValidationError with a link to the other account if an account other than `account` uses the address."""
    other = invitations.find_account(email)
    if other is None or other.pk == account.pk:
        return
    text = (
        _("%(email)s has already been invited. You can send the link again on the page of the account.")
        if invitations.is_invited(other)
        else _("%(email)s already has an account.")
    )
    url = reverse("admin:auth_user_change", args=[other.pk])
    raise ValidationError(
        format_html('{} <a href="{}">{}</a>', text % {"email": email}, url, _("Show account")), code="unique"
    )


class InvitationForm(forms.ModelForm):
    """The form for inviting a person. The email address becomes the username."""

    class Meta:
        model = User
        fields = ("email", "first_name", "groups")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].required = self.fields["groups"].required = True
        self.fields["first_name"].help_text = _("Optional. The person can change the name.")

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"]).lower()
        User._meta.get_field("username").run_validators(email)
        _require_unused(email, self.instance)
        return email

    def save(self, commit: bool = True) -> User:
        user: User = self.instance
        user.username, user.is_staff = user.email, True  # every role requires access to the admin
        user.set_unusable_password()
        saved: User = super().save(commit)
        return saved


class AccountForm(UserChangeForm):
    """The form for changing an account. If the username is the email address, they change together."""

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"])
        if email and "email" in self.changed_data:
            email = email.lower()
            _require_unused(email, self.instance)
        return email

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        was_same = self.initial.get("email") and self.initial["email"] == self.initial.get("username")
        if was_same and cleaned.get("email") and "username" not in self.changed_data:
            cleaned["username"] = cleaned["email"]
        return cleaned


class NameForm(forms.Form):
    """A form for the name that readers see."""

    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=User._meta.get_field("first_name").max_length,
        help_text=gettext_lazy("Readers see this name with your new posts and comments."),
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True, "class": "vTextField"}),
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if is_blank(name):
            raise ValidationError(_("Enter a name."))
        return name

    def store(self, user: User) -> None:
        """Set the name of an account."""
        User.objects.filter(pk=user.pk).update(first_name=self.cleaned_data["name"], last_name="")


class AcceptInvitationForm(NameForm, SetPasswordForm):
    """Django's form for setting a password, with the name that readers see."""

    field_order = ("name", "new_password1", "new_password2")

    def clean_name(self) -> str:
        name = super().clean_name()
        self.user.first_name, self.user.last_name = name, ""  # the password must not be similar to the name
        return name

    def save(self, commit: bool = True) -> bool:
        """Set the name and the password. Return False if the invitation has been accepted or withdrawn."""
        password, invited = self.cleaned_data["new_password1"], self.user.password
        self.user.set_password(password)
        accepted = User.objects.filter(pk=self.user.pk, password=invited, is_active=True).update(
            password=self.user.password, first_name=self.user.first_name, last_name=""
        )
        if accepted:
            password_validation.password_changed(password, self.user)
        return bool(accepted)
