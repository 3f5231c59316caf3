"""The project from docs/how-to/add-comments-to-your-project.md, with its data in SQLite or MongoDB."""

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/how-to/add-comments-to-your-project.md").read_text()
BLOCK = re.compile(r'```(\w+)(?: title="(\S*)")?\n(.*?)```', re.DOTALL)

# The relevant parts of the `startproject` settings. {contrib} contains the contrib apps for SQL or for MongoDB.
SETTINGS = """
SECRET_KEY = "only for this test"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "urls"
USE_TZ = True
STATIC_URL = "/static/"
CONTRIB = {contrib}
INSTALLED_APPS = [*CONTRIB, "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {{"context_processors": [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]}},
}}]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = "mails"
"""
CONTRIB = {
    "sql": ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.admin"],
    "mongodb": ["contrib.AuthConfig", "contrib.ContentTypesConfig"],
}
# These app configurations are in the project template of the official MongoDB backend.
MONGODB_CONTRIB = """
from django.contrib.auth.apps import AuthConfig as Auth
from django.contrib.contenttypes.apps import ContentTypesConfig as ContentTypes


class AuthConfig(Auth):
    default_auto_field = "django_mongodb_backend.fields.ObjectIdAutoField"


class ContentTypesConfig(ContentTypes):
    default_auto_field = "django_mongodb_backend.fields.ObjectIdAutoField"
"""
MONGODB_MIGRATIONS = 'MIGRATION_MODULES = {"auth": "migrated.auth", "contenttypes": "migrated.contenttypes"}\n'

MANAGE = """
import os, sys
from django.core.management import execute_from_command_line
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
execute_from_command_line(sys.argv)
"""


def write_project(
    folder: Path, kind: str, *, database: str, files: Mapping[str, str] | None = None, settings: str = ""
) -> None:
    """Write the project from the guide to `folder`.

    Args:
        folder: The project's folder, which is created if necessary.
        kind: The kind of database for the project's own data, "sql" or "mongodb".
        database: The name of the MongoDB database, which replaces the guide's name. The guide may append "_comments".
        files: Additional files.
        settings: Additional lines for the settings.
    """
    blocks = {name: text for _, name, text in BLOCK.findall(GUIDE) if name}
    project = {name: text for name, text in blocks.items() if name.partition("/")[0] not in CONTRIB}
    guide = blocks[f"{kind}/settings.py"].replace('"NAME": "shop', f'"NAME": "{database}')
    project["settings.py"] = SETTINGS.format(contrib=CONTRIB[kind]) + guide + settings
    project |= {"manage.py": MANAGE, "shop/__init__.py": "", **(files or {})}
    if kind == "mongodb":
        project["settings.py"] += MONGODB_MIGRATIONS
        project |= {"contrib.py": MONGODB_CONTRIB, "migrated/__init__.py": ""}
        project |= {"migrated/auth/__init__.py": "", "migrated/contenttypes/__init__.py": ""}
    for name, text in project.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
