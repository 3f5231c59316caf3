import pytest
from django.contrib.auth.models import Group

from cms.testing.editors import Editor


@pytest.fixture
def author(editor) -> Editor:
    """An author, who cannot publish."""
    made = editor("jo", is_superuser=False)
    made.user.groups.add(Group.objects.get(name="Authors"))
    return made
