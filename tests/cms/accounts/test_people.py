"""The list of people: roles, states, portraits, filters and pages."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from cms.accounts import people
from cms.testing.build import node
from tests.support.nodes import photo_build

User = get_user_model()
PEOPLE = reverse("admin:auth_user_changelist")


def person(username, *roles, seen=True, **fields):
    user = User.objects.create_user(username, f"{username}@example.org", "pw", is_staff=True, **fields)
    user.groups.set(Group.objects.filter(name__in=roles))
    if seen:
        User.objects.filter(pk=user.pk).update(last_login=timezone.now() - timedelta(days=1))
    return user


def invited(username):
    user = person(username, "Authors", seen=False)
    user.set_unusable_password()
    user.save()
    return user


def listed(client, **query):
    return [row.user.username for row in client.get(PEOPLE, query).context["people"]]


@pytest.fixture
def root(mongo) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", "root@example.org", "pw"))
    return client


@pytest.fixture
def site(root):
    person("ada", "Authors", "Moderators", first_name="Ada", last_name="Lindqvist")
    person("bob", "Editors", is_active=False)
    person("cy")
    invited("dot@example.org")
    return root


def test_people_have_names_roles_and_states(site):
    response = site.get(PEOPLE)
    rows = [(row.name, row.roles, str(row.state[1])) for row in response.context["people"]]
    assert rows == [
        ("Ada Lindqvist", "Authors, Moderators", "Active"),
        ("bob", "Editors", "Inactive"),
        ("cy", "", "Active"),
        ("dot@example.org", "Authors", "Invited"),
        ("root", "Superuser", "Active"),
    ]
    assert response.context["people"][0].details == ("ada@example.org", "ada")
    html = response.content.decode()
    assert '<span class="state state-invited">Invited</span>' in html
    assert "5 in total" in html
    assert "Saved filters" not in html


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "LIND"}, ["ada"]),
        ({"q": "ada lind"}, ["ada"]),
        ({"q": "example.org a"}, ["ada", "bob", "cy", "dot@example.org", "root"]),
        ({"q": "nobody"}, []),
        ({"q": "("}, []),
        ({"state": "active"}, ["ada", "cy", "root"]),
        ({"state": "invited"}, ["dot@example.org"]),
        ({"state": "inactive"}, ["bob"]),
        ({"state": "unknown", "role": "0" * 24}, ["ada", "bob", "cy", "dot@example.org", "root"]),
    ],
)
def test_people_are_filtered(site, query, expected):
    assert listed(site, **query) == expected


def test_filter_by_role_has_a_chip(site):
    authors = str(Group.objects.get(name="Authors").pk)
    assert listed(site, role=authors) == ["ada", "dot@example.org"]
    response = site.get(PEOPLE, {"role": authors, "state": "active"})
    assert [(chip.label, chip.value, chip.url) for chip in response.context["chips"]] == [
        ("Role", "Authors", "?state=active"),
        ("State", "Active", f"?role={authors}"),
    ]
    assert listed(site, role=authors, state="active") == ["ada"]


def test_portrait_comes_from_the_page_about_the_author(site):
    photo = photo_build.upload(photo_build.gallery(), fields={"detail.alt": "Ada"})
    node("author", "ada", title="Ada Lindqvist", **{"detail.picture": photo})
    first, second = site.get(PEOPLE).context["people"][:2]
    assert first.portrait.pk == photo
    assert second.portrait is None


def test_list_is_paged_by_username(site, monkeypatch):
    monkeypatch.setattr(people, "SIZE", 3)
    first = site.get(PEOPLE, {"q": "example"})
    assert [row.user.username for row in first.context["people"]] == ["ada", "bob", "cy"]
    second = site.get(PEOPLE + first.context["next"])
    assert [row.user.username for row in second.context["people"]] == ["dot@example.org", "root"]
    assert second.context["next"] == ""


def test_number_of_commands_does_not_depend_on_the_number_of_people(site, commands):
    site.get(PEOPLE)
    with commands.recorded() as log:
        site.get(PEOPLE)
    before = len(log.sent)
    for number in range(5):
        person(f"eve-{number}", "Authors")
    with commands.recorded() as log:
        site.get(PEOPLE)
    assert len(log.sent) == before


def test_invitation_proposes_the_role_of_authors(site):
    form = site.get(reverse("admin:auth_user_add")).context["adminform"].form
    assert [group.name for group in form["groups"].initial] == ["Authors"]


def test_authors_cannot_list_people(mongo):
    client = Client()
    client.force_login(person("jo", "Authors"))
    assert client.get(PEOPLE).status_code == 403
