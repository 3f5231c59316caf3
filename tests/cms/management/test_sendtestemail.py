"""`manage.py sendtestemail`: its message if the email server can't be used."""

import pytest
from django.core.management import CommandError, call_command

from marginalia.local.ports import free_port


def test_unreachable_email_server_is_reported_in_one_line(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    with pytest.raises(CommandError, match=r"^The email wasn't sent: .*refused.* Check EMAIL_URL\.$") as refused:
        call_command("sendtestemail", "ann@example.org")
    assert refused.value.returncode == 2


def test_email_is_sent(mailoutbox):
    call_command("sendtestemail", "ann@example.org")
    assert [mail.to for mail in mailoutbox] == [["ann@example.org"]]
