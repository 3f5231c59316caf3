"""`python -m tests.api.renew_schema` writes the schema that tests hold the API to: after reading what changes for programs."""

import os
from pathlib import Path

SNAPSHOT = Path(__file__).with_name("schema.json")

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from tests.api.test_schema import present

    SNAPSHOT.write_text(present())
