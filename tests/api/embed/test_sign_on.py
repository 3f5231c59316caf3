"""Tokens with which other sites log their readers in: signatures, expiry, claims, and the rights that they give."""

import base64
import re
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.schemas import openapi
from api.urls import api
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.api.embed.conftest import KEY, ORIGIN, PAGE, Browser, target
from tests.support.sign_on import SECRET, token

PRIVATE = Ed25519PrivateKey.generate()
PUBLIC = base64.b64encode(
    PRIVATE.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
).decode()


@pytest.fixture(autouse=True)
def keys(embed, settings) -> None:
    settings.EMBED = {"ORIGINS": [ORIGIN], "KEYS": [f"EdDSA:{PUBLIC}", f"HS256:{SECRET}"]}


@pytest.mark.parametrize(("key", "algorithm"), [(SECRET, "HS256"), (PRIVATE, "EdDSA")])
def test_reader_comments_under_the_name_in_the_token(key, algorithm):
    browser = Browser(token=token(key, algorithm))
    told = browser.post(name="Another").json()["comment"]
    assert (told["author"]["name"], told["author"]["is_moderator"]) == ("Bea", False)
    assert selectors.get(target(), told["slug"]).author.id == "embed:7"
    # The account is enough to change the comment on another device.
    other_device = Browser(token=token())
    assert [item["can_edit"] for item in other_device.read()["items"]] == [True]
    assert [item["can_edit"] for item in Browser(token=token(sub="8")).read()["items"]] == [False]


INVALID = {
    "expired": token(exp=time.time() - 60),
    "no expiry": token(exp=None),
    "not valid yet": token(nbf=time.time() + 600),
    "issued in the future": token(iat=time.time() + 600),
    "deeply nested header": base64.urlsafe_b64encode(b"[" * 2_700).decode() + "." + token().partition(".")[2],
    "no audience": token(aud=None),
    "another audience": token(aud="shop"),
    "no subject": token(sub=None),
    "empty subject": token(sub=""),
    "long subject": token(sub="x" * 101),
    "subject with a line break": token(sub="a\nb"),
    "no name": token(name=None),
    "invisible name": token(name="\u200b"),
    "name that is no text": token(name={"$ne": 1}),
    "another secret": token("another secret of the same length, more or less"),
    "another key pair": token(Ed25519PrivateKey.generate(), "EdDSA"),
    "another algorithm": token(SECRET * 2, "HS512"),
    "public key as a secret": token(PUBLIC),
    "no signature": token(None, "none"),
    "too long": token(more="x" * 4_000),
    "no token": "mrg_nothing",
}


@pytest.mark.parametrize("problem", INVALID)
def test_invalid_token_is_refused(problem):
    browser = Browser(token=INVALID[problem])
    answer = browser.post()
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (401, ORIGIN)
    assert browser.send("GET", f"/comments?page={PAGE}").status_code == 401


def test_token_needs_a_registered_site():
    assert Browser("https://evil.example", token()).post().status_code == 403


def test_moderator_approves_edits_and_deletes_comments(rules):
    rules(MODE="hold-all")
    reader = Browser()
    slug = reader.post("Please wait").json()["comment"]["slug"]
    body = {"page": PAGE, "action": "approve"}
    # Other values than true give no rights.
    for claim in (None, False, "true", 1):
        member = Browser(token=token(moderator=claim))
        assert member.read()["pending"] == []
        assert member.send("POST", f"/comments/{slug}/decision", body, If_Match="1").status_code == 404
    moderator = Browser(token=token(moderator=True))
    assert [item["slug"] for item in moderator.read()["pending"]] == [slug]
    assert moderator.send("POST", f"/comments/{slug}/decision", body, If_Match="1").status_code == 204
    assert moderator.send("POST", f"/comments/{slug}/decision", body, If_Match="1").status_code == 204
    assert [item["state"] for item in moderator.read()["items"]] == ["public"]
    changed = moderator.send("PATCH", f"/comments/{slug}", {"page": PAGE, "text": "Changed"}, If_Match="1")
    assert (changed.status_code, selectors.get(target(), slug).source) == (200, "Changed")
    assert moderator.send("DELETE", f"/comments/{slug}?page={PAGE}", If_Match="2").status_code == 204
    assert selectors.get(target(), slug).removed


def test_moderator_of_another_site_has_no_rights_in_the_api():
    """Any operation outside of /embed, with the token as a bearer token."""
    browser = Browser(token=token(moderator=True))
    for path, operations in openapi.schema(api)["paths"].items():
        for method in operations:
            address = re.sub(r"{\w+}", "0" * 24, path.replace("{slug}", "a" * 16))
            answer = browser.client.generic(
                method.upper(), address, "{}", "application/json", headers={"Authorization": f"Bearer {browser.token}"}
            )
            assert answer.status_code in (401, 404), (method, path)


def test_moderator_of_another_site_cannot_change_comments_on_this_site(post_page):
    """Neither by the slug of a comment or of a queued one, nor by the address of its page."""
    public = services.post(post_page, author=CommentAuthor("A"), source="Public", token="public").comment
    held = services.hold(post_page, author=CommentAuthor("A"), source="Held", token="held").held
    moderator = Browser(token=token(moderator=True))
    moderator.post("Here")
    for page in (PAGE, "http://testserver/news/hello", f"{ORIGIN}/news/hello"):
        for slug in (public.slug, held.slug):
            address = f"/comments/{slug}"
            answers = (
                moderator.send("PATCH", address, {"page": page, "text": "Changed"}, If_Match="1"),
                moderator.send("DELETE", f"{address}?page={page}", If_Match="1"),
                moderator.send("POST", f"{address}/decision", {"page": page, "action": "approve"}, If_Match="1"),
                moderator.post("Reply", page=page, parent=slug, key=KEY[::-1]),
            )
            assert {answer.status_code for answer in answers} <= {404, 422}
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Public"]
    assert [one.source for one in selectors.held()] == ["Held"]
    assert "Held" not in str(moderator.read())


def test_members_only_discussion_accepts_signed_on_readers(rules):
    rules(MODE="members")
    assert Browser().read()["discussion"]["members_only"]
    assert Browser().post().status_code == 403
    browser = Browser(token=token())
    assert not browser.read()["discussion"]["members_only"]
    assert browser.post(key=KEY[::-1]).status_code == 201
