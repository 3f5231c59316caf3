"""Web servers whose page cache hears no change by another server, to show that the readers of the soak find old pages.

These settings install this module as an app, which breaks the listener before any page is served.
"""

from django.apps import AppConfig

from tests.faults.harness.settings import *  # noqa: F403
from tests.faults.harness.settings import INSTALLED_APPS as SITE_APPS

INSTALLED_APPS = [*SITE_APPS, f"{__name__}.DeafConfig"]


class DeafConfig(AppConfig):
    name = __name__
    label = "deaf"

    def ready(self) -> None:
        from tests.reader.page_cache import listening_races

        listening_races.silence_listener()
