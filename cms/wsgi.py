"""The site as a WSGI application."""

import os
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from django.core.wsgi import get_wsgi_application

from cms.serving.stack_memory import with_stack_memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings")
django = get_wsgi_application()
# This module can be imported only after Django has been set up.
django = import_module("cms.requests.comment_flood").CommentLimit(django)

_BOUNDARY = re.compile(r';\s*boundary="?([^\s";\\]{1,200})', re.IGNORECASE)


@with_stack_memory
def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Return the response to a request, without a body for HEAD requests. All requests are decoded as UTF-8.

    Content-Type is reduced to the media type and, for multipart forms, the boundary. Django would parse the other
    parameters before a view or an error handler could respond, and some values would cause an error. Memory use would
    also grow, because Python caches each charset that was ever requested.
    """
    header = environ.get("CONTENT_TYPE", "")
    media_type = header.partition(";")[0].strip().lower()
    boundary = _BOUNDARY.search(header) if media_type.startswith("multipart/") else None
    environ["CONTENT_TYPE"] = f'{media_type}; boundary="{boundary[1]}"' if boundary else media_type
    response = django(environ, start_response)
    if environ["REQUEST_METHOD"] != "HEAD":
        return response
    response.close()  # gunicorn would also omit the body, but would log a warning
    return ()
