import io
from typing import Any

import pytest
from django.core.management import call_command


@pytest.fixture
def run(tmp_path):
    """Run the command on an export, and return its output line by line."""

    def work(data: bytes, **options: Any) -> list[str]:
        path = tmp_path / "export.xml"
        path.write_bytes(data)
        said = io.StringIO()
        try:
            call_command("import_wordpress", str(path), stdout=said, **options)
        finally:
            work.said = said.getvalue().splitlines()
        return work.said

    return work
