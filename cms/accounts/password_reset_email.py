"""The email with a link for setting a new password.

The worker sends the email. A request therefore does the same work for any email address, and doesn't reveal whether an
account exists.
"""

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.forms import PasswordResetForm
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import translation

from marginalia.tasks import RETRIES_FOR_A_DAY, URGENT, needing, task
from nodes import links


class QueuedResetForm(PasswordResetForm):
    """Django's form, except that saving the form only queues a job, which looks up the account and sends the email."""

    def save(self, *, request: HttpRequest, **options: Any) -> None:
        """Queue a job that emails the reset link to the submitted address, if an account has this address."""
        email = self.cleaned_data["email"]
        send_reset_email.enqueue(email=email, origin=links.origin(request), language=translation.get_language() or "")


class _EmailedResetForm(PasswordResetForm):
    """Django's form, except that mail server errors are passed to the job queue instead of being logged and ignored."""

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,
        to_email: str,
        html_email_template_name: str | None = None,
    ) -> None:
        subject = " ".join(render_to_string(subject_template_name, context).split())
        body = render_to_string(email_template_name, context)
        headers = {"Auto-Submitted": "auto-generated"}
        EmailMessage(subject, body, from_email, [to_email], headers=headers).send()


@task(stored_as="accounts.reset", priority=URGENT, retries=RETRIES_FOR_A_DAY)
def send_reset_email(email: str, origin: str, language: str) -> None:
    """Email a link for setting a new password to all active accounts with the address `email`.

    If the job fails and is retried, an account may receive the email twice, which does no harm.
    """
    site = urlsplit(origin)
    form = _EmailedResetForm({"email": email})
    if not form.is_valid():
        return
    with needing("the email server"), translation.override(language or None):
        form.save(domain_override=site.netloc, use_https=site.scheme == "https")
