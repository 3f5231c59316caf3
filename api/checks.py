"""System checks for what projects add to the API."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from api.schemas.computed import InvalidComputedField, computed_fields
from nodes.content import registry


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
