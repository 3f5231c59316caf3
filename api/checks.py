"""System checks of the routers and computed fields that projects add to the API."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from api.schemas.computed import InvalidComputedField, computed_fields
from nodes.content import registry


@register()
def check_extensions(**kwargs: Any) -> list[CheckMessage]:
    """Check the routers that apps add to the API.

    - api.E002: the name of a router is invalid, or two routers have the same name.
    - api.E003: a router isn't a Router from api.extensions.
    - api.E004: two schemas or two operations have the same name.
    """
    # Import these modules only here, because they import ninja. Background processes, and commands that don't run
    # system checks, don't need ninja.
    from api import extensions
    from api.schemas import openapi
    from api.urls import api

    messages: list[CheckMessage] = []
    names: set[str] = set()
    for name, router in extensions.registered():
        if not extensions.NAME.fullmatch(name):
            hint = "Use at most 50 lower-case letters, digits and hyphens, starting with a letter."
            messages.append(Error(f"The API router “{name}” has an invalid name.", hint=hint, id="api.E002"))
        elif name in names:
            messages.append(Error(f"Two API routers have the name “{name}”.", hint="Rename one.", id="api.E002"))
        if not extensions.is_own(router):
            message = f"The API router “{name}” or a router in it isn't of the class api.extensions.Router."
            messages.append(Error(message, hint="Import Router from api.extensions.", id="api.E003"))
        names.add(name)
    if extensions.registered():
        for name in sorted(openapi.conflicts(api)):
            message = f"Two schemas or operations in the API have the name “{name}”."
            messages.append(Error(message, hint="Rename the class or function of your app.", id="api.E004"))
    return messages


@register()
def check_computed_fields(**kwargs: Any) -> list[CheckMessage]:
    """Check the `api_fields` of all content types.

    - api.E001: a name in `api_fields` isn't a property or method, or its annotation can't be converted to JSON.
    """
    messages: list[CheckMessage] = []
    for content_type in registry.types():
        try:
            computed_fields(content_type)
        except InvalidComputedField as error:
            messages.append(
                Error(
                    f"{content_type.__module__}.{content_type.__name__}.api_fields contains {error}.",
                    hint="Use properties and methods with a return annotation such as int, str or timedelta.",
                    obj=content_type,
                    id="api.E001",
                )
            )
    return messages
