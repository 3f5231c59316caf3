"""Users of actions: an author, another author, an editor, and a command."""

from collections.abc import Callable
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from cms.testing.build import node
from nodes.access import System
from nodes.actions import CreateNode
from nodes.types import Actor


@pytest.fixture
def member(mongo) -> Callable[..., Any]:
    """Return a function that creates an account in a group: member("Authors", "ann")."""

    def create(group: str, name: str) -> Any:
        user = get_user_model()._default_manager.create_user(name, f"{name}@example.org", "pw", is_staff=True)
        user.groups.set(Group.objects.filter(name=group))
        return user

    return create


@pytest.fixture
def author(member) -> Any:
    return member("Authors", "ann")


@pytest.fixture
def other_author(member) -> Any:
    return member("Authors", "bea")


@pytest.fixture
def publisher(member) -> Any:
    return member("Editors", "eve")


@pytest.fixture
def system(mongo) -> System:
    return System(Actor(None, "Import"))


@pytest.fixture
def hidden(mongo) -> ObjectId:
    """Return the id of a folder that readers don't see."""
    return node("folder", "hidden", published=None)


@pytest.fixture
def draft_page(author) -> ObjectId:
    """Return the id of an unpublished page by `author`, at the top level."""
    return create(author)


def create(user: Any, parent: ObjectId | None = None, *, node_id: ObjectId | None = None, **fields: Any) -> ObjectId:
    """Create an unpublished page as `user`; return its id. In names of fields, "__" stands for a dot."""
    place = {"title": "Own", "slug": "", "parent_id": parent}
    given = {name.replace("__", "."): value for name, value in fields.items()}
    return CreateNode(user=user, type="basic-page", fields={**place, **given}, node_id=node_id).execute().id
