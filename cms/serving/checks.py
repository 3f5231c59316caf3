"""System checks for the web server, which `check --deploy` runs."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def check_proxy(**kwargs: Any) -> list[CheckMessage]:
    """Report cms.W001 if BEHIND_PROXY is off.

    Without a buffering proxy, a few slow clients can block all threads of the web server.
    """
    if settings.BEHIND_PROXY:
        return []
    hint = (
        "Put a proxy that buffers requests and responses in front of the site "
        "(docs/how-to/deploy.md), and set BEHIND_PROXY=on. This check reads only the setting. It "
        "can't detect the proxy."
    )
    return [Warning("BEHIND_PROXY is off.", hint=hint, id="cms.W001")]
