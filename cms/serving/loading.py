"""Load views and templates at startup, so that an upgrade in the same folder doesn't affect running processes."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import get_hashers
from django.contrib.auth.password_validation import get_default_password_validators
from django.db import connections
from django.template import TemplateSyntaxError, engines
from django.template.backends.django import DjangoTemplates
from django.template.loaders import cached
from django.urls import get_resolver
from django.utils.module_loading import import_string


def load_all() -> None:
    """Import the modules that Django would otherwise import during a request, and parse all cacheable templates."""
    get_resolver().url_patterns  # noqa: B018 - imports the views
    get_hashers()
    get_default_password_validators()
    for path in (*settings.FILE_UPLOAD_HANDLERS, *settings.AUTHENTICATION_BACKENDS):
        import_string(path)
    for connection in connections.all():
        connection.ops.compiler("SQLCompiler")
    for engine in engines.all():
        if isinstance(engine, DjangoTemplates):
            engine.engine.template_context_processors  # noqa: B018 - imports them
            for name in _template_names(engine):
                with suppress(
                    TemplateSyntaxError, UnicodeDecodeError
                ):  # the first request that uses the template will raise the error again
                    engine.get_template(name)


def _template_names(engine: DjangoTemplates) -> Iterator[str]:
    for loader in engine.engine.template_loaders:
        if isinstance(loader, cached.Loader):
            for folder in map(Path, loader.get_dirs()):
                yield from (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
