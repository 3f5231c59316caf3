"""The settings of the web server, for `manage.py serve` and for gunicorn.conf.py in the site's folder.

This module imports the settings module without setting up Django, because the application itself sets up Django.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

# Make the files that the site writes readable only by the site's own user. gunicorn applies its `umask` setting only in
# daemon mode.
os.umask(0o077)

_packages = str(Path(__file__).resolve().parents[2])
# The site's folder, as in cms.environment.table.
chdir = os.environ.get("MARGINALIA_SITE") or _packages
sys.path[:0] = dict.fromkeys([chdir, _packages])
try:
    _settings = import_module(os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings"))
except ImproperlyConfigured as error:  # exit with the same message and exit code as manage.py
    sys.stderr.write(f"The settings are invalid: {error}\n")
    sys.exit(2)

# The folder in which worker processes store their metrics (cms.requests.metrics.multiprocess).
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(_settings.VAR_DIR / "metrics"))

# How many threads remain for requests that don't need the database, even if all other threads are waiting for it. During
# a flood of comments, half of them handle comments (cms.requests.comment_flood.AT_ONCE).
SPARE_THREADS = 8

# The import path of the WSGI application, for example "cms.wsgi:application".
wsgi_app = ":".join(_settings.WSGI_APPLICATION.rsplit(".", 1))
workers = _settings.WEB_CONCURRENCY
# A thread is busy while its client sends the request and reads the response. A buffering proxy does both quickly. To
# use a different worker class, set GUNICORN_CMD_ARGS="--worker-class ...".
worker_class = "gthread"
# The number of threads doesn't depend on the number of cores, because most threads are waiting for the database.
threads = _settings.REQUESTS_AT_ONCE + SPARE_THREADS
timeout = 60
keepalive = 5
# Number of seconds that running requests have to finish when a worker shuts down.
graceful_timeout = 10
# The site is loaded before workers are forked. New workers are therefore ready immediately, a site that fails to load
# never reports that it is ready, and workers share the memory of the page cache.
preload_app = True
# Don't let headers change the path or the scheme, because Django itself reads the headers of a trusted proxy.
forwarder_headers = ""
forwarded_allow_ips = ""
# gunicorn's access log is off, because the site logs its own line for each request, without IP addresses.
loglevel = "warning"
# By default, gunicorn creates a control socket in the home folder. All sites run by the same user would share this
# socket.
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Load the modules and templates that workers share. Exit with a message if MongoDB can't satisfy the write concern."""
    if reason := import_module("marginalia.mongo.servers").unmet_write_concern(_settings.DATABASES["default"]):
        sys.stderr.write(f"{reason}\n")
        sys.exit(2)
    import_module("cms.serving.loading").load_all()


def post_worker_init(worker: Any) -> None:
    """If MongoDB is unavailable, log the reason before the first request. Start the listener of the page cache."""
    import_module("marginalia.mongo.servers").report_outage()
    import_module("reader.page_cache.listener").start()
