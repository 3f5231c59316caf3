"""Admin lists with queries that the database refuses: a list or a refusal, never an error."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor

LISTS = [
    "auth_user",
    "marginalia_comments_storeddiscussion",
    "marginalia_comments_storedcomment",
    "marginalia_comments_storedbucket",
]
FIELDS = {
    "auth_user": ("username", "last_login"),
    "marginalia_comments_storeddiscussion": ("label", "newest"),
    "marginalia_comments_storedcomment": ("slug", "posted"),
    "marginalia_comments_storedbucket": ("discussion_id", "id"),
}
LOOKUPS = [
    "regex=(",
    "iregex=[",
    "regex=%00",
    "exact=%00",
    "gt=99999999999999999999999",
    "year=99999999999999999999",
    "year=0",
    "year=abc",
    "date=0000-00-00",
    "week_day=9",
    "in=a,(",
    "isnull=maybe",
    "range=1",
    "contains=%00",
    "startswith=%ff",
]
OTHERS = [
    "q=%00",
    "q=(",
    "q=a:%00",
    "q=:",
    "p=99999999999999999999",
    "p=-1",
    "o=99.-99",
    "o=x",
    "e=1",
    "all=",
    "_facets=1",
    "nothing=1",
    "id=x",
    "id__exact=0",
    "pk__in=x,y",
    "count=9223372036854775808",
    "number__gt=1e400",
]


@pytest.fixture
def staff(client, mongo):
    client.force_login(get_user_model().objects.create_superuser("ann", password="x"))
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("name", [LISTS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in LISTS[1:])])
def test_list_survives_any_query(staff, name):
    address = reverse(f"admin:{name}_changelist")
    asked = [f"{field}__{lookup}" for field in FIELDS[name] for lookup in LOOKUPS] + OTHERS
    told = {query: staff.get(f"{address}?{query}", follow=True).status_code for query in asked}
    assert {query: status for query, status in told.items() if status not in (200, 400)} == {}


def test_invalid_pattern_redirects_to_the_whole_list(staff, post_page):
    services.post(post_page, author=CommentAuthor("Bo"), source="Hello", token="t")
    address = reverse("admin:marginalia_comments_storeddiscussion_changelist")
    answer = staff.get(f"{address}?label__regex=(")
    assert (answer.status_code, answer["Location"]) == (302, f"{address}?e=1")
    assert "1 discussion" in staff.get(answer["Location"]).content.decode()
    assert "1 discussion" in staff.get(f"{address}?label__regex=^nodes").content.decode()
    assert "0 discussions" in staff.get(f"{address}?label__regex=^Bob").content.decode()
