"""Roles: explained where they are given, and given there."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from cms.accounts import roles


@pytest.fixture
def root(mongo) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "pw"))
    return client


def test_every_group_that_the_site_comes_with_is_explained(mongo):
    assert set(Group.objects.values_list("name", flat=True)) == set(roles.ROLES)
    assert all(roles.explained(name) for name in roles.ROLES)
    assert roles.explained("Proofreaders") == ""


def test_roles_are_explained_where_they_are_given(root):
    Group.objects.create(name="Proofreaders")
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    form = reverse("admin:auth_user_change", args=[ann.pk])
    html = root.get(form).content.decode()
    assert "Moderators: Approve, reject and remove comments." in html
    assert "Proofreaders" in html
    listed = root.get(reverse("admin:auth_group_changelist")).content.decode()
    assert "Approve, reject and remove comments." in listed


def test_roles_are_given_by_ticking_them(root):
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    moderators = Group.objects.get(name="Moderators")
    form = reverse("admin:auth_user_change", args=[ann.pk])
    sent = {"username": "ann", "is_active": "on"}
    refused = root.post(form, {**sent, "groups": ["0" * 24]})
    assert refused.status_code == 200
    assert not ann.groups.exists()
    assert root.post(form, {**sent, "groups": [str(moderators.pk)]}).status_code == 302
    assert list(ann.groups.all()) == [moderators]
