"""Reports of comments over HTTP."""

import pytest

from marginalia.comments.posting import flags, services
from tests.api.comments.conftest import MISSING, Writer, of
from tests.support.comments.site import post_directly


@pytest.mark.slow
def test_visitor_reports_a_comment_once(post_page, rules):
    comment = post_directly(post_page)
    for _again in range(2):
        assert Writer().send("post", f"{of(post_page, comment.slug)}/flag").status_code == 204
    assert [(flag.slug, flag.count) for flag in flags.list_flagged()] == [(comment.slug, 1)]


def test_reports_are_limited_and_need_a_public_comment(post_page, rules):
    rules(RATE=(1, 600))
    comment = post_directly(post_page)
    statuses = [Writer().send("post", f"{of(post_page, comment.slug)}/flag").status_code for _again in range(2)]
    assert statuses == [204, 429]
    assert Writer().send("post", f"{of(post_page, MISSING)}/flag").status_code == 404
    services.remove(post_page, comment.slug)
    assert Writer().send("post", f"{of(post_page, comment.slug)}/flag").status_code == 404
