"""Settings for a site with the recipes app: `DJANGO_SETTINGS_MODULE=examples.recipes.settings python manage.py …`."""

from cms.settings import *  # noqa: F403
from cms.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "examples.recipes"]
