"""Accounts with each role."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client


@pytest.fixture
def person(mongo):
    """Create an account with access to the admin: person("Authors"), or person() for a superuser."""

    def make(group=None):
        name = group or "root"
        user = get_user_model().objects.create_user(
            name, f"{name}@example.org", "pw", is_staff=True, is_superuser=not group
        )
        user.groups.set(Group.objects.filter(name=group))
        client = Client()
        client.force_login(user)
        client.user = user
        return client

    return make
