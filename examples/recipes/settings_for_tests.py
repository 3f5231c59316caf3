"""The settings for the site's tests, with the recipes app."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "examples.recipes"]
