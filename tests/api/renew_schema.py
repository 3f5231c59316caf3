"""`python -m tests.api.renew_schema` writes the schema that tests compare with. Read the difference first."""

import json
import os
from pathlib import Path
from typing import Any

SNAPSHOT = Path(__file__).with_name("schema.json")
# Descriptions are no part of the promise.
WORDS = ("description", "summary", "title", "examples")


def promised(said: Any) -> Any:
    """Return a schema without descriptions. A property can have the name of a description key."""
    if isinstance(said, list):
        return [promised(one) for one in said]
    if not isinstance(said, dict):
        return said
    return {name: promised(one) for name, one in said.items() if name not in WORDS or isinstance(one, dict)}


def present() -> str:
    """Return the promised parts of the current schema."""
    from api.schemas import openapi
    from api.urls import api

    return json.dumps(promised(openapi.schema(api)), indent=1, sort_keys=True, default=str) + "\n"


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    SNAPSHOT.write_text(present())
