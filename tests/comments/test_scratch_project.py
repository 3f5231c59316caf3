"""A project with only the comments app: its HTTP API, and what replaces the features of django-comments-xtd.

Each function in FEATURES stands for rows of the table in docs/how-to/import-comments.md.
"""

import os
import subprocess
import sys
from textwrap import dedent

import pytest

from tests.support.comments.shop_project import BLOCK, ROOT, write_project

pytestmark = pytest.mark.slow

DATABASE = "test_scratch"
API_GUIDE = (ROOT / "docs/how-to/use-comments-over-http.md").read_text()
TEMPLATE = {"shop/templates/comments/shop/item/form_link.html": "Write about an item"}
SETTINGS = """
COMMENTS["MIN_SECONDS"] = 0
DEFAULT_FROM_EMAIL = "shop@example.org"
"""
FEATURES = (
    "api",
    "threads",
    "guests",
    "options_of_models",
    "policies_and_forms",
    "words",
    "mails",
    "hiding",
    "sent_signals",
    "tags_and_templates",
)
VISIT = '''
import json, os
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import Client, override_settings
from marginalia import comments
from marginalia.comments import signals, targets
from marginalia.comments.posting import flags, services
from marginalia.comments.posting.forms import CommentForm
from marginalia.comments.posting.policy import ModelPolicy
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from django import forms
from shop.models import Item

API = "/comments/api"
keys = iter(range(1000))

def having(**changes):
    return override_settings(COMMENTS={**settings.COMMENTS, "RATE": (1000, 600), **changes})

class Program:
    """A program that uses the HTTP API."""

    def __init__(self):
        self.client, self.own, self.guest = Client(), "", ""

    def send(self, method, path, body=None, **headers):
        headers = {"Comments-Own": self.own, "Comments-Guest": self.guest, **headers}
        content = b"" if body is None else json.dumps(body).encode()
        return self.client.generic(method, API + path, content, "application/json", headers=headers)

    def post(self, item, text="Hello", **fields):
        key = {"Idempotency-Key": f"a-key-of-enough-length-{next(keys)}"}
        answer = self.send("POST", f"/on/shop.item/{item.pk}", {"name": "Ann", "text": text, **fields}, **key)
        self.own = answer.json().get("own", self.own)
        return answer

    def posted(self, *args, **fields):
        answer = self.post(*args, **fields)
        assert answer.status_code == 201, answer.content
        return answer.json()["comment"]

def new_item():
    return Item.objects.create(name="Teapot")

def add(item, text, parent="", name="Ann", **more):
    token = f"token {next(keys)}"
    return services.post(item, author=CommentAuthor(name), source=text, token=token, parent=parent, **more).comment

def page(item):
    return Client().get(item.get_absolute_url()).content.decode()

def render(source, **context):
    return Template("{% load comments %}" + source).render(Context(context))

def api():
    item, hidden, ann, bob = new_item(), Item.objects.create(name="Secret", published=False), Program(), Program()
    with having(MODE="open", LIKES=True):
        first = ann.posted(item, "A *fine* pot")
        assert (first["state"], first["body_html"].strip()) == ("public", "<p>A <em>fine</em> pot</p>"), first
        reply = bob.posted(item, "Indeed", parent=first["slug"], name="Bob")
        listed = ann.send("GET", f"/on/shop.item/{item.pk}?order=threaded").json()
        assert [(c["slug"], c["depth"], c["can_edit"]) for c in listed["items"]] == [
            (first["slug"], 0, True), (reply["slug"], 1, False)
        ], listed
        own = f"/c/shop.item/{item.pk}/{first['slug']}"
        assert bob.send("PATCH", own, {"text": "Mine"}, **{"If-Match": "1"}).status_code == 403
        changed = ann.send("PATCH", own, {"text": "A *good* pot"}, **{"If-Match": "1"})
        assert changed.json()["rev"] == 2, changed.content
        bob.guest = bob.send("PUT", own + "/like").json()["guest"]
        assert bob.send("PUT", own + "/like").json()["likes"] == 1
        assert bob.send("POST", own + "/flag").status_code == 204 and flags.count() == 1
        asked = f"/counts?target=shop.item:{item.pk}&target=shop.item:{hidden.pk}"
        assert ann.send("GET", asked).json() == {"items": [{"target": f"shop.item:{item.pk}", "count": 2}]}
        assert ann.send("GET", f"/on/shop.item/{hidden.pk}").status_code == 404
        assert ann.send("DELETE", own, **{"If-Match": "2"}).status_code == 204
    described = ann.send("GET", "/openapi.json").json()
    assert len(described["paths"]) == 5, described["paths"].keys()

def threads():
    item = new_item()
    with having(MAX_DEPTH=2):
        first = add(item, "One")
        second = add(item, "Two", first.slug)
        assert add(item, "Three", second.slug).depth == 1
    assert "in reply to" in render("{% render_comment_list for item %}", item=item)
    with having(DEFAULT={"ORDER": "newest"}):
        other = new_item()
        for text in ("Older", "Newer"):
            add(other, text)
        html = render("{% render_comment_list for item %}", item=other)
        assert html.index("Newer") < html.index("Older") and "comments=oldest" in html, html
    with having(MAX_LENGTH=5, MODE="open"):
        assert Program().post(item, "Too long").status_code == 422

def guests():
    item, guest = new_item(), Program()
    with having(MODE="hold-first", TRUST_AFTER=1):
        held = guest.posted(item, "Held at first")
        assert held["state"] == "pending"
        from marginalia.comments.moderation import pending
        chief = User.objects.create_superuser("chief", "chief@example.org", "pw")
        pending.decide("approve", [selectors.find_held(item, held["slug"]).id], str(chief.pk))
        assert guest.posted(item, "Trusted now")["state"] == "public"

def options_of_models():
    item = new_item()
    slug = add(item, "Liked").slug
    like = f"/c/shop.item/{item.pk}/{slug}/like"
    with having(TARGETS={"shop.item": {"MODE": "members", "LIKES": True}}):
        assert Program().post(item).status_code == 403
        form = Client().get(f"/comments/form/shop.item/{item.pk}").content.decode()
        assert "Log in" in form, form
        client = Program()
        client.client.force_login(User.objects.create_user("dee", "dee@example.org", "pw"))
        assert client.send("PUT", like).json()["likes"] == 1
        # Reports need no setting.
    with having(MODE="open", LIKES=False):
        assert Program().post(item).status_code == 201
        assert client.send("PUT", like).status_code == 403
        assert Program().send("POST", like.replace("/like", "/flag")).status_code == 204

def policies_and_forms():
    class Policy(ModelPolicy):
        enable_field = "published"

    class Review(CommentForm):
        rating = forms.IntegerField(min_value=1, max_value=5)

    before = targets._registered.pop(Item)
    comments.register(Item, visible=lambda keys: Item.objects.filter(pk__in=keys), policy=Policy(), form=Review)
    try:
        with having(MODE="open"):
            closed, item = Item.objects.create(name="Closed", published=False), new_item()
            assert Program().post(closed, extra={"rating": 4}).status_code == 403
            assert Program().post(item, extra={"rating": 9}).json()["errors"][0]["field"] == "body.extra.rating"
            assert Program().posted(item, extra={"rating": 4})["extra"] == {"rating": 4}
    finally:
        targets._registered[Item] = before

def words():
    with having(MODE="open", WORDS=["casino"]):
        assert Program().posted(new_item(), "A casino")["state"] == "pending"

def mails():
    from django.core.management import call_command
    item, ann = new_item(), Program()
    with having(MODE="open"), override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend"):
        mail.outbox = []
        first = ann.posted(item, "Ask", email="ann@example.org", notify=True)["slug"]
        call_command("work", once=True)
        link = next(w for w in mail.outbox[-1].body.split() if "/subscribe/" in w)
        assert mail.outbox[-1].from_email == "shop@example.org"
        Client().post(link.partition("testserver")[2])
        Program().post(item, "Answer", parent=first, name="Bob")
        call_command("work", once=True)
        assert (mail.outbox[-1].to, "Answer" in mail.outbox[-1].body) == (["ann@example.org"], True)

def hiding():
    item = new_item()
    first = add(item, "Above")
    add(item, "Below", first.slug)
    services.remove(item, first.slug)
    assert "Below" in page(item) and "Above" not in page(item)

def tags_and_templates():
    item = new_item()
    add(item, "One *two*", name="Ann Bee")
    html = page(item)
    assert "One <em>two</em>" in html and ">AB<" in html and "comments/comments.js" in html, html
    assert render("{% get_comment_count for item as n %}{{ n }}", item=item) == "1"
    counts = "{% get_comment_counts items as list %}{% for item, count in list %}{{ item.name }}{{ count }}{% endfor %}"
    assert render(counts, items=[item]) == "Teapot1"
    assert "two" in render('{% get_recent_comments 1 "shop.item" as l %}{% for c in l %}{{ c.html }}{% endfor %}')
    assert "Ann Bee" in render("{% render_recent_comments 1 %}")
    assert "Write about an item" in render("{% render_comment_form_link for item %}", item=item)

def sent_signals():
    notified = []
    def hear(signal, **kwargs):
        notified.append(signal)
    names = ("comment_will_be_posted", "comment_was_posted", "comment_was_flagged", "comment_was_liked")
    heard = [getattr(signals, name) for name in names]
    for signal in heard:
        signal.connect(hear)
    with having(MODE="open", LIKES=True):
        item, program = new_item(), Program()
        slug = program.posted(item)["slug"]
        program.send("POST", f"/c/shop.item/{item.pk}/{slug}/flag")
        program.send("PUT", f"/c/shop.item/{item.pk}/{slug}/like")
    assert notified == heard, notified

for feature in FEATURES:
    globals()[feature]()
    print("checked", feature)
'''


def test_project_without_the_cms_has_the_api_and_the_features_in_the_table(tmp_path, mongo):
    (urls,) = [dedent(text) for _, title, text in BLOCK.findall(API_GUIDE) if title == "urls.py"]
    write_project(
        tmp_path,
        "sql",
        database=DATABASE,
        files={"urls.py": urls, "visit.py": f"FEATURES = {FEATURES}\n{VISIT}", **TEMPLATE},
        settings=SETTINGS,
    )
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MONGODB_URI": os.environ["TEST_MONGODB_URI"],
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
    }

    def run(*words: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    try:
        for command in (["makemigrations", "shop"], ["migrate"], ["setup_indexes"], ["check"]):
            run("manage.py", *command)
        checked = [line for line in run("visit.py").split("\n") if line.startswith("checked")]
        assert checked == [f"checked {name}" for name in FEATURES]
    finally:
        mongo.client.drop_database(f"{DATABASE}_comments")
