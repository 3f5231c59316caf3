"""The site as a WSGI application, for whatever serves it."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from cms.serving.frames import with_room

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings")
django = get_wsgi_application()

_BOUNDARY = re.compile(r';\s*boundary="?([^\s";\\]{1,200})', re.IGNORECASE)


@with_room
def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request, without a body if it is HEAD. Whatever is sent is read as UTF-8.

    Of its Content-Type the type alone is taken, and of a form with files the boundary: Django reads the other parameters before
    anything of it can answer, fails over some, and Python remembers each charset that it was ever asked for.
    """
    said = environ.get("CONTENT_TYPE", "")
    type = said.partition(";")[0].strip().lower()
    boundary = _BOUNDARY.search(said) if type.startswith("multipart/") else None
    environ["CONTENT_TYPE"] = f'{type}; boundary="{boundary[1]}"' if boundary else type
    answer = django(environ, start_response)
    if environ["REQUEST_METHOD"] != "HEAD":
        return answer
    answer.close()  # gunicorn would drop a body too, but with a warning in the log
    return ()
