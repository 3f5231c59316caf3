#!/usr/bin/env python
"""Django's command line, on this site's settings."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from cms.release import version_line
from marginalia.local.mongod import MongodError
from marginalia.mongo.management.base import COULD_NOT_RUN
from marginalia.mongo.servers import describe_outage, is_outage

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cms.settings")
    if sys.argv[1:] in (["--version"], ["version"]):  # Django would print only its own
        sys.stdout.write(f"{version_line()}\n")
        sys.exit()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"The settings are invalid: {error}\n")
        sys.exit(COULD_NOT_RUN)
    except MongodError as error:  # met at the first connection, in any command
        sys.stderr.write(f"{error}\n")
        sys.exit(COULD_NOT_RUN)
    except Exception as error:  # Django's own commands (migrate, createsuperuser) let the driver's errors through
        if not is_outage(error):
            raise
        sys.stderr.write(f"CommandError: {describe_outage(error)}\n")
        sys.exit(COULD_NOT_RUN)
