"""Cookies, headers, tokens and bodies between a browser and the site."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core import mail, signing
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import FakePayload
from django.utils.http import urlsafe_base64_encode

from cms.testing.build import node, nonce
from marginalia.comments.notices import subscriptions
from marginalia.comments.posting import tokens
from marginalia.comments.posting.tokens import FormToken, SentComment
from marginalia.comments.types import Target
from marginalia.tasks import worker
from reader import page_cache
from reader.views import previews
from reader.views.previews import Preview
from tests.support.comments import site as comment_site
from tests.support.site_settings import production, run_python

ROOT = Path(__file__).parents[2]
PASSWORD = "a good pass phrase"


@pytest.fixture
def chief(mongo):
    return get_user_model().objects.create_superuser("chief", "chief@example.org", PASSWORD)


@pytest.fixture
def admin(client, chief):
    client.force_login(chief)
    return client


def policy(response):
    """Return {directive: sources} of the Content-Security-Policy of a response."""
    parts = (part.split() for part in response["Content-Security-Policy"].split(";"))
    return {name: sources for name, *sources in parts}


def pages():
    """Return pages of every kind, of the site and of the admin."""
    page_id = node()
    public = [
        "/",
        "/page",
        "/search?q=x",
        "/nothing-here",
        "/log-in",
        f"/comments/form/nodes.node/{page_id}",
        "/tag/none",
    ]
    staff = ["/admin/", "/admin/nodes/node/", "/admin/nodes/node/add/?type=basic-page", "/admin/nodes/photo/"]
    staff += [f"/admin/nodes/node/{page_id}/{name}/" for name in ("change", "history", "delete", "preview")]
    staff += ["/admin/marginalia_comments/moderation/", "/admin/nodes/sitesettings/", "/admin/password_change/"]
    return [*public, *staff]


def test_every_page_sends_its_security_policy(admin):
    for path in pages():
        answer = admin.get(path)
        assert answer.status_code in (200, 404), path
        said = policy(answer)
        assert said["default-src"] == ["'self'"], path
        assert said["object-src"] == ["'none'"], path
        # Only the editor's preview pane may be framed, and only by pages of the site.
        framed = path.endswith("/preview/")
        assert said["frame-ancestors"] == ["'self'" if framed else "'none'"], path
        assert said["base-uri"] == said["form-action"] == ["'self'"], path
        assert "unsafe" not in answer["Content-Security-Policy"], path
        assert not {"script-src", "script-src-elem", "style-src-elem"} & said.keys(), path
        # Only pages with the Markdown editor have a nonce.
        own, *nonces = said["style-src"]
        assert own == "'self'", path
        assert len(nonces) == ("/add/" in path or path.endswith("/change/")), path
        assert answer["X-Frame-Options"] == ("SAMEORIGIN" if framed else "DENY"), path
        assert answer["X-Content-Type-Options"] == "nosniff", path
        assert answer["Referrer-Policy"] in ("strict-origin-when-cross-origin", "no-referrer"), path
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin", path
        for feature in ("camera", "geolocation", "microphone", "payment", "usb"):
            assert f"{feature}=()" in answer["Permissions-Policy"], path


def test_favicon_is_served_and_cached(client):
    answer = client.get("/favicon.ico")
    assert answer.status_code == 200
    assert answer["Content-Type"] in ("image/x-icon", "image/vnd.microsoft.icon")
    assert "max-age=86400" in answer["Cache-Control"]
    assert b"".join(answer.streaming_content).startswith(b"\0\0\1\0")


def test_no_page_has_inline_scripts_or_styles(admin):
    for path in pages():
        html = admin.get(path).content.decode()
        assert not re.search(r"<script(?![^>]*(?:src=|application/ld\+json|application/json))", html), path
        assert not re.search(r"<[a-z][^<>]* (?:on[a-z]+|style)=", html.split("<textarea")[0]), path


def test_cookies_are_for_this_site_only(chief):
    client = Client()
    client.get("/log-in")
    answer = client.post("/log-in", {"username": "chief", "password": PASSWORD})
    for name in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME):
        cookie = answer.cookies[name]
        assert cookie["httponly"], name
        assert cookie["samesite"] == "Lax", name
        assert not cookie["domain"], name


def test_login_starts_a_new_session(chief):
    """An attacker who planted a session before knows nothing of the new one."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "planted" * 4 + "abcd"
    answer = client.post("/log-in", {"username": "chief", "password": PASSWORD})
    assert answer.cookies[settings.SESSION_COOKIE_NAME].value not in ("", "planted" * 4 + "abcd")


def test_cookie_of_own_comments_is_sent_to_comments_only(mongo, settings):
    settings.COMMENTS = {**settings.COMMENTS, "MIN_SECONDS": 0}
    client = Client()
    comment_site.post(client, comment_site.entry())
    cookie = client.cookies[tokens.OWN_COOKIE]
    assert cookie["path"] == "/comments/"
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_production_settings_are_strict(tmp_path):
    wanted = {
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "SECURE_HSTS_SECONDS": 31_536_000,
        "SECURE_HSTS_INCLUDE_SUBDOMAINS": False,
        "SECURE_HSTS_PRELOAD": False,
        "SECURE_CONTENT_TYPE_NOSNIFF": True,
        "X_FRAME_OPTIONS": "DENY",
        "DEBUG": False,
    }
    # The results of these settings, over HTTP and HTTPS.
    asked = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'cms.settings'; import django; django.setup()\n"
        "from django.middleware.security import SecurityMiddleware as M; from django.http import HttpResponse as R\n"
        "from django.test import RequestFactory as F; from django.conf import settings\n"
        "host = settings.ALLOWED_HOSTS[0]; m = M(lambda request: R())\n"
        "plain = m(F().get('/a', headers={'host': host})); safe = m(F().get('/a', secure=True, headers={'host': host}))\n"
        f"print({{name: getattr(settings, name) for name in {list(wanted)}}})\n"
        "print(plain.status_code, plain['Location'].startswith('https://'), safe['Strict-Transport-Security'])"
    )
    answer = run_python(production() | {"VAR_DIR": str(tmp_path)}, "-c", asked)
    assert answer.stdout.splitlines() == [str(wanted), "301 True max-age=31536000"], answer.stderr
    more = {"HSTS_SUBDOMAINS": "on", "HSTS_PRELOAD": "on"}
    answer = run_python(production() | {"VAR_DIR": str(tmp_path)} | more, "-c", asked)
    assert answer.stdout.splitlines()[-1] == "301 True max-age=31536000; includeSubDomains; preload", answer.stderr


def test_secrets_come_only_from_the_environment():
    """No committed file contains a secret. The key of a local site is created there and private."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    files = [ROOT / name for name in listed] or [
        p for p in ROOT.rglob("*") if p.suffix in (".py", ".toml", ".txt", ".md")
    ]
    secret = re.compile(r"""(?:SECRET_KEY|PASSWORD|TOKEN|API_KEY)["']?\s*[=:]\s*["'][^"'${<\s]{12,}["']""")
    for file in files:
        if file.suffix in (".py", ".toml", ".txt", ".md", ".html", ".js", ".json", "") and "tests" not in file.parts:
            assert file.is_dir() or not secret.search(file.read_text(errors="replace")), file
    assert not [name for name in listed if name.startswith(".env") or name.endswith((".pem", ".key"))]


def test_every_form_needs_its_csrf_token(chief):
    """The view of every form is called with a session and without the CSRF token."""
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(chief)
    page_id = node()
    forms = ["/log-in", "/log-out", "/admin/login/", "/admin/logout/", "/admin/password-reset/", "/admin/nodes/node/"]
    forms += ["/admin/nodes/node/add/?type=basic-page", "/admin/nodes/sitesettings/", "/admin/nodes/photo/"]
    forms += [
        f"/admin/nodes/node/{page_id}/{name}/" for name in ("change", "move", "delete", "duplicate", "preview-link")
    ]
    forms += ["/admin/marginalia_comments/moderation/decide", "/comments/approve/" + "0" * 24, "/admin/auth/user/add/"]
    for path in forms:
        assert strict.post(path, {"title": "x"}).status_code == 403, path
    upload = strict.post(f"/admin/nodes/photo/upload/{node('gallery', 'gallery')}/", {})
    assert upload.status_code == 403
    assert (
        strict.post(
            "/comments/post", {"text": "x", "token": FormToken.new(Target("nodes.node", str(page_id))).signed()}
        ).status_code
        == 422
    )
    assert "page" in Client().get("/page").content.decode().lower(), "nothing was done to it"


@pytest.mark.parametrize("password", ["short1", "password1234", "1234567890123", "chief@example.org"])
def test_weak_passwords_are_refused(chief, password):
    with pytest.raises(ValidationError):
        validate_password(password, chief)


def test_reset_link_is_for_one_user_and_one_password(chief, client):
    other = get_user_model().objects.create_user("other", "other@example.org", PASSWORD)
    client.post("/admin/password-reset/", {"email": "chief@example.org"})
    worker.work()
    path = re.search(r"http://testserver(/\S+)", mail.outbox[0].body)[1]
    uid = path.rstrip("/").split("/")[-2]
    elses = path.replace(uid, urlsafe_base64_encode(str(other.pk).encode()))
    assert "used" in client.get(elses, follow=True).content.decode(), "it opens no other account"
    chief.set_password("another pass phrase")
    chief.save()
    assert "used" in client.get(path, follow=True).content.decode(), "nor this one's once the password was changed"


def test_reset_emails_use_the_url_of_the_site(chief, client, settings):
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://example.org", ["*"]
    client.post("/admin/password-reset/", {"email": "chief@example.org"}, headers={"host": "evil.example"})
    worker.work()
    assert "https://example.org/" in mail.outbox[0].body
    assert "evil" not in mail.outbox[0].body + mail.outbox[0].subject


def test_password_resets_are_throttled(chief, client):
    statuses = [client.post("/admin/password-reset/", {"email": "chief@example.org"}).status_code for _ in range(8)]
    assert statuses[:5] == [302] * 5
    assert statuses[-1] == 429
    while worker.work():
        pass
    assert len(mail.outbox) == 5


# Every signed value, and how it is read: the salt binds it to its purpose.
TARGET = Target("nodes.node", "0" * 24)


def signed():
    """Return {purpose: (a signed value, its payload)}."""
    subscription = subscriptions.id_for(TARGET, "ann@example.org")
    form = FormToken.new(TARGET, "", "42")
    return {
        "preview": (previews.link(Preview(made := node(), nonce(made))).removeprefix("/preview/"), previews.SALT),
        "form": (form.signed(), tokens.FORM_SALT),
        "own": (tokens.sign_sent([SentComment(TARGET.id, "a" * 16, "n")]), tokens.OWN_SALT),
        **{
            purpose: (subscriptions.token(subscription, purpose), f"{subscriptions.SALT}.{purpose}")
            for purpose in subscriptions.DAYS
        },
    }


def opens(name, value):
    """Return whether a value is accepted for the purpose `name`."""
    match name:
        case "preview":
            return previews.read_token(value) is not None
        case "form":
            try:
                return not tokens.read_form(value).expired
            except tokens.BadToken:
                return False
        case "own":
            return tokens.read_sent(value) != ()
    try:
        subscriptions.read(value, name)
    except subscriptions.NoSubscription:
        return False
    return True


@pytest.fixture
def values(mongo):
    subscriptions.add(TARGET, "a" * 16, "ann@example.org")
    return signed()


@pytest.mark.parametrize("name", ["preview", "form", "own", "confirm", "leave"])
def test_signed_value_is_valid_for_one_purpose(values, name):
    for other, (value, _salt) in values.items():
        assert opens(name, value) is (other == name), other
    value = values[name][0]
    assert not opens(name, value[:-2] + ("AA" if value[-2:] != "AA" else "BB")), "changed"
    assert not opens(name, ""), "nothing"
    assert not opens(name, signing.dumps(signing.loads(value, salt=values[name][1]), salt="x")), "of another purpose"
    forged = signing.dumps(signing.loads(value, salt=values[name][1]), salt=values[name][1], key="another site's key")
    assert not opens(name, forged), "of another site"


@pytest.mark.parametrize(
    ("name", "days"),
    [("preview", previews.DAYS), ("form", 2), ("own", 365), *subscriptions.DAYS.items()],
)
def test_signed_value_expires(values, name, days, monkeypatch):
    assert opens(name, values[name][0])
    real = time.time()
    monkeypatch.setattr(signing.time, "time", lambda: real + days * 86_400 + 60)
    assert not opens(name, values[name][0])


def test_form_of_a_user_is_accepted_from_that_user_only(chief, settings):
    settings.COMMENTS = {**settings.COMMENTS, "MIN_SECONDS": 0}
    hers, target = Client(), comment_site.entry()
    hers.force_login(chief)
    filled = comment_site.fill(hers, target)
    for stranger in (Client(), Client()):
        assert comment_site.send(stranger, filled).status_code == 422
    assert comment_site.send(hers, filled).status_code == 302


def test_oversized_body_is_refused_before_it_is_read(admin):
    large = "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    for path in ("/comments/post", "/log-in", f"/admin/nodes/node/{node()}/change/", "/admin/nodes/sitesettings/"):
        assert admin.post(path, {"text": large}).status_code in (400, 413), path
        many = {f"f{number}": "x" for number in range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
        assert admin.post(path, many).status_code in (400, 413), path


def test_files_are_accepted_only_for_photos(admin):
    """A file sent to any other form is neither stored nor read into memory."""
    file = SimpleUploadedFile("x.html", b"<script>alert(1)</script>" * 10, "text/html")
    answer = admin.post("/admin/nodes/sitesettings/", {"name": file})
    assert answer.status_code == 200
    assert "alert(1)" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/comments/post", "/log-in", "/admin/nodes/node/", "/nothing-there"])
def test_unexpected_file_is_not_read(admin, path, monkeypatch):
    """Text before the file is read. The file itself is not written to disk."""
    made = []
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda *args, **kwargs: made.append(args))
    file = SimpleUploadedFile("x.bin", b"x" * 4_000_000)
    read = []
    take = FakePayload.read
    monkeypatch.setattr(FakePayload, "read", lambda self, n=None: read.append(n) or take(self, n))
    answer = admin.post(path, {"text": "typed", "file": file})
    assert answer.status_code < 500
    assert made == []
    assert sum(read) < 1_000_000


def test_unknown_host_is_refused(client, mongo):
    refused = client.get("/", headers={"host": "evil.example"})
    assert refused.status_code == 400
    assert policy(refused) == policy(client.get("/")), "a refusal is a page as well"
    assert refused["X-Frame-Options"] == "DENY"
    shown = client.get(
        "/", headers={"x-forwarded-host": "evil.example", "x-forwarded-proto": "gopher", "forwarded": "host=evil"}
    )
    assert shown.status_code == 200
    assert "evil" not in shown.content.decode()


@pytest.mark.parametrize("name", ["/gone", "/blog", "//evil.example", "gone", "/\xff"])
def test_no_request_moves_the_site_to_another_path(client, mongo, name):
    """Whichever headers a server passes on in the environment."""
    blog = node("blog", "blog")
    node("blog-entry", "post", parent=blog)
    for path in ("/", "/blog", "/blog/post", "/feed/atom", "/sitemap.xml", "/robots.txt", "/nothing-here"):
        page_cache.storage.clear()
        moved = client.get(path, SCRIPT_NAME=name)
        plain = client.get(path)
        assert moved.status_code == plain.status_code, path
        assert name == "/blog" or name not in moved.content.decode(), path
        assert moved.content.count(b"/blog") == plain.content.count(b"/blog"), path


def test_no_redirect_leads_to_another_site(client, chief):
    for elsewhere in (
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:evil.example",
    ):
        for path in ("/log-in", "/admin/login/"):
            answer = Client().post(
                f"{path}?next={elsewhere}", {"username": "chief", "password": PASSWORD, "next": elsewhere}
            )
            assert "evil" not in answer.get("Location", ""), (path, elsewhere)
            assert "javascript" not in answer.get("Location", "")
    assert client.get("//evil.example/%2f..").status_code in (301, 400, 404)
