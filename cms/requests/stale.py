"""What readers get while the database is away says that it may be old: to programs by a header, to people by a line."""

import re

from django.http import HttpResponse
from django.template import loader
from django.utils import translation

# RFC 7234, section 5.5.1. RFC 9111 has left it out, and nothing else says as much.
WARNING = '110 - "Response is Stale"'
# Where the line stands: after the link that skips to the content.
_TOP = re.compile(rb'<body[^>]*>(?:\s*<a class="skip-link".*?</a>)?', re.DOTALL)


def marked(response: HttpResponse) -> HttpResponse:
    """Mark a whole answer as stale, a page by a line at its top too; nothing may keep it or take it for the present one."""
    for name in ("ETag", "Last-Modified"):
        del response[name]
    response["Warning"] = WARNING
    response["Cache-Control"] = "no-store"
    if response.get("Content-Type", "").startswith("text/html"):
        with translation.override(response.get("Content-Language")):
            line = loader.render_to_string("errors/_stale.html").encode()
        response.content = _TOP.sub(lambda top: top[0] + line, response.content, count=1)
        response["Content-Length"] = str(len(response.content))
    return response
