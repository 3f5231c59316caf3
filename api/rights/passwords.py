"""Passwords and tokens: changing an account's password revokes its tokens."""

from typing import Any

from django.utils.translation import gettext as _

from api.rights import tokens


class TokenRevoker:
    """A password validator that accepts every password, and revokes the account's tokens when a password is stored.

    Django calls password_changed() for every way to set a password: forms, resets, the admin, `manage.py
    changepassword` and code. Django doesn't call it when a login only stores the same password under a newer hasher.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accept the password."""

    def password_changed(self, password: str, user: Any = None) -> None:
        """Revoke the tokens of the account."""
        if user is not None and user.pk is not None:
            tokens.revoke_all(user.pk)

    def get_help_text(self) -> str:
        """Return the help text that Django shows where a password is set."""
        return _("A new password revokes all API tokens of the account.")
