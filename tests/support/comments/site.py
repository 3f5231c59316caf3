"""A post to comment on, readers with cookies of their own, and forms sent as a browser would send them."""

import re
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from typing import Any

from bson import ObjectId
from django.core import mail
from django.test import Client
from django.urls import reverse

from marginalia.comments.posting import services
from marginalia.comments.types import Author, Comment, Target
from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from tests.support.nodes import build

LABEL = "nodes.node"


def entry(**fields: Any) -> Target:
    """Publish a blog post; return the target that it is."""
    blog = build.node("blog", "news")
    return Target(LABEL, str(build.node("blog-entry", "hello", parent=blog, title="Hello", **fields)))


def form_url(target: Target, parent: str = "") -> str:
    return reverse("comments-form", args=[target.label, target.pk]) + (f"?parent={parent}" if parent else "")


def fields_of(html: str) -> dict[str, str]:
    """Return the values of a page's comment form."""
    form = html[html.index('<form class="comment-form"') :]
    form = form[: form.index("</form>")]
    inputs = {
        match["name"]: unescape(match["value"])
        for match in re.finditer(r'<input[^>]*name="(?P<name>\w+)"[^>]*?value="(?P<value>[^"]*)"', form)
    }
    text = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", form, re.DOTALL)
    return {**inputs, "text": unescape(text[1]) if text else ""}


def fill(
    client: Client, target: Target, text: str = "Hello", *, parent: str = "", name: str = "Ann", **more: str
) -> dict[str, str]:
    """Fetch a form and return it filled in."""
    fetched = client.get(form_url(target, parent))
    assert fetched.status_code == 200
    return {**fields_of(fetched.content.decode()), "name": name, "text": text, **more}


def send(client: Client, data: dict[str, str]) -> Any:
    return client.post(reverse("comments-post-comment"), data)


def post(client: Client, target: Target, text: str = "Hello", **more: str) -> Any:
    """Fetch a form, fill it in, send it."""
    return send(client, fill(client, target, text, **more))


def shut_the_gate(mongo, target, monkeypatch):
    """Have a converter at the end of its work keep everybody from writing, for longer than they wait."""
    monkeypatch.setattr("marginalia.comments.backends.discussions.PATIENCE", 0)
    in_a_minute = now() + timedelta(minutes=1)
    moving = {"id": ObjectId(), "to": "buckets", "order": "oldest", "renumber": False, "beat": now(), "epoch": 2}
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving": {**moving, "gate": in_a_minute}}})


def one(target: Target, source: str = "First", token: str = "t1", **more: Any) -> Comment:
    """Post a comment past the forms; return it."""
    return services.post(target, author=Author("Bea"), source=source, token=token, **more).comment


def change_url(name: str, comment: Comment) -> str:
    """Return the address of a comment's own page: "edit", "delete", "flag", "thread", …"""
    return reverse(f"comments-{name}", args=[comment.target.label, comment.target.pk, comment.slug])


@contextmanager
def received(signal, answer=None):
    """Collect what a signal is sent with; its receiver answers `answer`."""
    sent = []

    def receive(sender, **arguments):
        del arguments["signal"]
        sent.append(arguments)
        return answer

    signal.connect(receive)
    try:
        yield sent
    finally:
        signal.disconnect(receive)


def work() -> None:
    """Do the jobs that are due."""
    while jobs.work():
        pass


def last_link(part: str) -> str:
    """Return the address in the newest mail that leads to a page of comments."""
    return re.search(rf"http://testserver(/comments/{part}/\S+)", mail.outbox[-1].body)[1]
