"""Revocation of API tokens when an account's password changes."""

from typing import Any

from django.utils.translation import gettext as _

from api.rights import tokens


class TokenRevoker:
    """A password validator that accepts any password, and revokes the account's tokens when a new password is stored.

    Django calls password_changed() whenever a password is set: in forms, resets and the admin, with `manage.py
    changepassword`, and in code. If Django rehashes the same password with a newer hasher at login, it doesn't call
    this method.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accept any password."""

    def password_changed(self, password: str, user: Any = None) -> None:
        """Revoke the account's tokens."""
        if user is not None and user.pk is not None:
            tokens.revoke_all(user.pk)

    def get_help_text(self) -> str:
        """Return the help text for forms that set a password."""
        return _("Changing the password revokes all API tokens for the account.")
