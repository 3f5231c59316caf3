"""Web servers whose page cache misses all changes by other servers, to show that the soak's readers find old pages.

These settings install this module as an app, which breaks the listener before any page is served.
"""

from django.apps import AppConfig

from tests.faults.harness.settings import *  # noqa: F403
from tests.faults.harness.settings import INSTALLED_APPS as SITE_APPS

INSTALLED_APPS = [*SITE_APPS, f"{__name__}.MissingChangesConfig"]


class MissingChangesConfig(AppConfig):
    name = __name__
    label = "missing_changes"

    def ready(self) -> None:
        from tests.reader.page_cache import listening_races

        listening_races.silence_listener()
