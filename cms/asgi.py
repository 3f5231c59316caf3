"""The site as an ASGI application, for tools that need one. Sites are deployed with gunicorn and `cms.wsgi`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings")
application = get_asgi_application()
