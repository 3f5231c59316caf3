"""gunicorn's settings, for `manage.py serve` and for a service: gunicorn --config cms/serving/gunicorn_conf.py.

It reads the settings module itself: what is served may set Django up in its own way.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

# Only the site's own user can read the files that it writes. gunicorn's setting `umask` is for its daemon mode only.
os.umask(0o077)

chdir = str(Path(__file__).resolve().parents[2])
sys.path.insert(0, chdir)
try:
    _settings = import_module(os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings"))
except ImproperlyConfigured as error:  # as manage.py ends
    sys.stderr.write(f"The settings are not right: {error}\n")
    sys.exit(2)

# Where worker processes count, for /metrics (cms.requests.metrics.processes).
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(_settings.VAR_DIR / "metrics"))

# Requests beyond REQUESTS_AT_ONCE: what needs no database while the others wait for it.
SPARE_THREADS = 4

wsgi_app = "cms.wsgi:application"
workers = _settings.WEB_CONCURRENCY
# A thread is busy for as long as the other end takes to send and to read. The proxy in front is fast, because it buffers.
# GUNICORN_CMD_ARGS="--worker-class ..." chooses another class.
worker_class = "gthread"
# They bridge the wait for the database, which is the same with any number of cores.
threads = _settings.REQUESTS_AT_ONCE + SPARE_THREADS
timeout = 60
keepalive = 5
# Seconds for requests under way when a worker ends.
graceful_timeout = 10
# The site is loaded before the first worker is made: a new one is ready at once, and "ready" is said of a site that loads.
preload_app = True
# No header moves the site to another path or scheme: Django itself reads what a proxy says, where there is one.
forwarder_headers = ""
forwarded_allow_ips = ""
# No access log: the site has its own line for each request, without anybody's address.
loglevel = "warning"
# Else gunicorn keeps a socket in the home folder that every site would share.
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Load views and templates, or end with a sentence if no write would be acknowledged, as `manage.py serve` does."""
    if reason := import_module("marginalia.mongo.servers").unmet_write_concern(_settings.DATABASES["default"]):
        sys.stderr.write(f"{reason}\n")
        sys.exit(2)
    import_module("cms.serving.loading").load_all()


def post_worker_init(worker: Any) -> None:
    """Log why MongoDB can't be used, if it can't, before any request."""
    import_module("marginalia.mongo.servers").report_outage()
