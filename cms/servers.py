"""The command line of the web server."""

import os
import sys

from django.conf import settings

SPARE_THREADS = 4  # of each worker, for what needs no database while the others wait for it
GRACEFUL_SECONDS = 10  # for requests under way when a worker ends


def command(application: str, port: int) -> list[str]:
    """Return the command that serves an application on this loopback port: also what tests and benchmarks start."""
    workers = [] if "WEB_CONCURRENCY" in os.environ else ["--workers", str(min(max(2, os.cpu_count() or 2), 4))]
    command = [sys.executable, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}", *workers]
    threads = str(settings.REQUESTS_AT_ONCE + SPARE_THREADS)
    command += ["--worker-class", "gthread", "--threads", threads, "--timeout", "60", "--keep-alive", "5"]
    # No access log: the site has its own line for each request, without anybody's address.
    command += ["--graceful-timeout", str(GRACEFUL_SECONDS)]
    # No header moves the site to another path or scheme: Django itself reads what a proxy says, where there is one.
    command += ["--forwarder-headers", "", "--forwarded-allow-ips", ""]
    # Without these two gunicorn announces itself, and keeps a socket in the home folder that every site would share.
    command += ["--log-level", "warning", "--no-control-socket", "--chdir", str(settings.BASE_DIR)]
    return command
