"""Likes over HTTP."""

import pytest

from api.rights.scopes import Scope
from marginalia.comments.posting import services
from tests.api.comments.conftest import MISSING, Writer, of, said
from tests.support.comments.site import post_directly


@pytest.fixture
def reader(account, asker):
    return Writer(asker(account("ann", "Authors"), Scope.WRITE))


@pytest.mark.slow
def test_account_likes_a_comment_and_takes_it_back(reader, discussed, rules):
    rules(LIKES=True)
    comment = post_directly(discussed)
    path = of(discussed, comment.slug)
    for method, likes in (("put", 1), ("put", 1), ("delete", 0), ("delete", 0), ("put", 1)):
        answer = reader.send(method, f"{path}/like")
        assert (answer.status_code, said(answer)["likes"]) == (200, likes)
    listed = said(Writer().send("get", of(discussed)))
    assert (listed["discussion"]["likes"], listed["items"][0]["likes"]) == (True, 1)
    assert said(Writer().send("get", path))["likes"] == 1


def test_repeated_post_returns_the_likes(reader, post_page, rules):
    rules(LIKES=True)
    comment = said(reader.post(post_page))
    reader.send("put", f"{of(post_page, comment['slug'])}/like")
    assert said(reader.post(post_page))["likes"] == 1


def test_likes_are_refused_where_they_are_off(reader, post_page, rules):
    path = of(post_page, post_directly(post_page).slug)
    assert reader.send("put", f"{path}/like").status_code == 403
    assert said(Writer().send("get", of(post_page)))["discussion"]["likes"] is False
    rules(LIKES=True)
    assert Writer().send("put", f"{path}/like").status_code == 401
    assert reader.send("put", f"{of(post_page, MISSING)}/like").status_code == 404


def test_removed_comment_cant_be_liked(reader, post_page, rules):
    rules(LIKES=True)
    comment = post_directly(post_page)
    services.remove(post_page, comment.slug)
    assert reader.send("put", f"{of(post_page, comment.slug)}/like").status_code == 404
