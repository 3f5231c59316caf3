"""Invitations: an administrator creates an account, and the invited person sets its name and password with a link.

An invited account has no password. The link contains a signed token instead of a stored one. The token is valid for
PASSWORD_RESET_TIMEOUT seconds, and only until the account's password, email address or last login changes.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, make_password
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import EmailMessage
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from marginalia.tasks import RETRIES_FOR_A_DAY, URGENT, needing, task
from nodes.models import stored_site

# Email backends that deliver no email. The administrator has to pass on the link.
UNDELIVERED = {f"django.core.mail.backends.{name}.EmailBackend" for name in ("console", "dummy")}


# The condition for accounts whose invitation hasn't been accepted yet, as in `is_invited`.
INVITED = Q(password__startswith=UNUSABLE_PASSWORD_PREFIX, last_login__isnull=True)


class _TokenGenerator(PasswordResetTokenGenerator):
    """Django's generator with its own salt, so that a link for resetting a password can't accept an invitation."""

    key_salt = "cms.accounts.invitations"


tokens = _TokenGenerator()


def is_invited(user: User) -> bool:
    """Return whether a person has been invited, but hasn't accepted the invitation yet."""
    return not user.has_usable_password() and user.last_login is None


def is_valid(user: User | None, token: str) -> bool:
    """Return whether a token accepts the invitation of `user`."""
    return user is not None and user.is_active and is_invited(user) and tokens.check_token(user, token)


def valid_days() -> int:
    """Return for how many days a link is valid."""
    return settings.PASSWORD_RESET_TIMEOUT // (24 * 60 * 60)


def find_account(email: str) -> User | None:
    """Return the account that has this email address, or uses it as its username, in any capitalization."""
    return User.objects.filter(Q(email__iexact=email) | Q(username__iexact=email)).first()


def renew(user: User) -> bool:
    """Make earlier links invalid. Return False if the invitation has been accepted.

    Every unusable password is different, and the links depend on it.
    """
    former, user.password = user.password, make_password(None)
    return bool(User.objects.filter(pk=user.pk, password=former, is_active=True).update(password=user.password))


def link(user: User, origin: str) -> str:
    """Return the URL with which the person accepts the invitation."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return origin + reverse("accept_invitation", args=[uid, tokens.make_token(user)])


def can_email() -> bool:
    """Return whether the site has an email server."""
    return settings.EMAIL_BACKEND not in UNDELIVERED


@task(stored_as="accounts.invite", priority=URGENT, retries=RETRIES_FOR_A_DAY)
def send_invitation(user_id: str, origin: str, language: str) -> None:
    """Email an invitation, unless it has been accepted or withdrawn. The job creates the link, so no link is stored."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not is_invited(user):
        return
    with needing("the email server"), translation.override(language or None):
        context = {
            "email": user.email,
            "username": user.get_username(),
            "link": link(user, origin),
            "days": valid_days(),
            "site_name": stored_site.current().settings.name or urlsplit(origin).netloc,
        }
        subject = " ".join(render_to_string("registration/invitation_subject.txt", context).split())
        body = render_to_string("registration/invitation_email.txt", context)
        EmailMessage(subject, body, to=[user.email], headers={"Auto-Submitted": "auto-generated"}).send()
