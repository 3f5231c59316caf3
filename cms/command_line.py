"""Django's command line for a site. It reports unusable settings and database failures without a traceback."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from cms.release import version_line
from marginalia.local.mongod import MongodError
from marginalia.mongo.management.base import COULD_NOT_RUN
from marginalia.mongo.servers import describe_outage, is_outage


def main(settings: str = "cms.settings") -> None:
    """Run the command in `sys.argv`. Unless DJANGO_SETTINGS_MODULE is set, the command uses the settings in `settings`.

    If the command can't run because of the settings or the database, the process exits with code 2.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings)
    if sys.argv[1:] in (["--version"], ["version"]):  # Django would print only its own version
        sys.stdout.write(f"{version_line()}\n")
        sys.exit()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"The settings are invalid: {error}\n")
        sys.exit(COULD_NOT_RUN)
    except MongodError as error:  # any command's first connection can raise this
        sys.stderr.write(f"{error}\n")
        sys.exit(COULD_NOT_RUN)
    except Exception as error:  # Django's own commands, such as migrate, don't catch the driver's errors
        if not is_outage(error):
            raise
        sys.stderr.write(f"CommandError: {describe_outage(error)}\n")
        sys.exit(COULD_NOT_RUN)
