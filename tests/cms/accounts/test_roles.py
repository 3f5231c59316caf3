"""Roles are described and assigned on the same page."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from cms.accounts import roles


@pytest.fixture
def root(mongo) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "pw"))
    return client


def test_every_default_group_is_described(mongo):
    assert set(Group.objects.values_list("name", flat=True)) == set(roles.ROLES)
    assert all(roles.describe_group(name) for name in roles.ROLES)
    assert roles.describe_group("Proofreaders") == ""


def test_roles_are_described_where_they_are_assigned(root, group):
    group("Proofreaders")
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    form = reverse("admin:auth_user_change", args=[ann.pk])
    html = root.get(form).content.decode()
    assert "Moderators: Approve, reject and remove comments." in html
    assert "Proofreaders" in html
    assert f'<a href="{reverse("admin:auth_user_password_change", args=[ann.pk])}">Change password</a>' in html
    assert "algorithm" not in html
    listed = root.get(reverse("admin:auth_group_changelist")).content.decode()
    assert "Approve, reject and remove comments." in listed


def test_form_of_a_person_leads_back_to_people(root):
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    people = reverse("admin:auth_user_changelist")
    for form, title in (
        (reverse("admin:auth_user_add"), "Invite a person"),
        (reverse("admin:auth_user_change", args=[ann.pk]), "ann"),
    ):
        html = root.get(form).content.decode()
        assert f'<a href="{people}">People</a>' in html
        assert f"<h1>{title}</h1>" in html


def test_roles_are_assigned_by_checkboxes(root):
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    moderators = Group.objects.get(name="Moderators")
    form = reverse("admin:auth_user_change", args=[ann.pk])
    sent = {"username": "ann", "is_active": "on"}
    refused = root.post(form, {**sent, "groups": ["0" * 24]})
    assert refused.status_code == 200
    assert not ann.groups.exists()
    assert root.post(form, {**sent, "groups": [str(moderators.pk)]}).status_code == 302
    assert list(ann.groups.all()) == [moderators]
    ann.refresh_from_db()
    assert ann.check_password("pw")


def test_list_shows_the_description_and_the_number_of_people(root, group):
    group("Proofreaders")
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    moderators = Group.objects.get(name="Moderators")
    ann.groups.add(moderators)
    response = root.get(reverse("admin:auth_group_changelist"))
    rows = {row.group.name: (row.description, row.members) for row in response.context["roles"]}
    assert rows["Moderators"] == ("Approve, reject and remove comments.", 1)
    assert rows["Proofreaders"] == ("", 0)
    html = response.content.decode()
    assert "Add role" in html
    link = f"{reverse('admin:auth_user_changelist')}?role={moderators.pk}"
    assert f'<a href="{link}">1</a>' in html
    assert [row.user.username for row in root.get(link).context["people"]] == ["ann"]


def test_pages_of_a_role_lead_back_to_roles(root):
    editors = Group.objects.get(name="Editors")
    forms = [reverse("admin:auth_group_add")]
    forms += [reverse(f"admin:auth_group_{page}", args=[editors.pk]) for page in ("change", "history", "delete")]
    for form in forms:
        html = root.get(form).content.decode()
        assert f'<a href="{reverse("admin:auth_group_changelist")}">Roles</a>' in html
        assert "Authentication and Authorization ›" not in html
    assert "<h1>Add role</h1>" in root.get(forms[0]).content.decode()
    assert "<h1>Editors</h1>" in root.get(forms[1]).content.decode()


def test_permissions_are_grouped_by_app(root):
    editors = Group.objects.get(name="Editors")
    groups = root.get(reverse("admin:auth_group_change", args=[editors.pk])).context["adminform"].form
    choices = dict(groups.fields["permissions"].choices)
    assert "Can moderate comments" in [label for _value, label in choices["Comments"]]
    assert "Can view user" in [label for _value, label in choices["Authentication and Authorization"]]


def test_permissions_of_a_removed_app_have_its_label(root):
    kind = ContentType.objects.create(app_label="removed", model="thing")
    permission = Permission.objects.create(content_type=kind, codename="use_thing", name="Can use things")
    form = root.get(reverse("admin:auth_group_add")).context["adminform"].form
    labels = dict(form.fields["permissions"].choices)["removed"]
    assert [(value.value, label) for value, label in labels] == [(permission.pk, "Can use things")]


def test_page_for_deleting_says_what_remains(root):
    ann = get_user_model().objects.create_user("ann", "ann@example.org", "pw")
    moderators = Group.objects.get(name="Moderators")
    ann.groups.add(moderators)
    deleted_account = root.get(reverse("admin:auth_user_delete", args=[ann.pk])).content.decode()
    assert "“ann” will no longer be able to log in. Pages, photos and comments remain" in deleted_account
    deleted_role = root.get(reverse("admin:auth_group_delete", args=[moderators.pk])).content.decode()
    assert "1 person has the role “Moderators” and will lose its permissions." in deleted_role
    assert "User_groups object" not in deleted_account + deleted_role
    assert root.post(reverse("admin:auth_user_delete", args=[ann.pk]), {"post": "yes"}).status_code == 302
    assert not get_user_model().objects.filter(username="ann").exists()


def test_page_of_an_app_redirects_to_the_dashboard(root):
    response = root.get(reverse("admin:app_list", args=["nodes"]))
    assert response.headers["Location"] == reverse("admin:index")
