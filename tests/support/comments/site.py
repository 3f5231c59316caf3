"""A post with comments, and functions that submit forms in the same way as a browser."""

import re
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from typing import Any

from bson import ObjectId
from django.core import mail
from django.test import Client
from django.urls import reverse

from cms.testing import build
from marginalia.comments.posting import services
from marginalia.comments.types import Comment, CommentAuthor, Target
from marginalia.mongo.clock import now
from marginalia.tasks import worker

LABEL = "nodes.node"


def entry(**fields: Any) -> Target:
    """Publish a blog post, and return it as a comment target."""
    blog = build.node("blog", "news")
    return Target(LABEL, str(build.node("blog-entry", "hello", parent=blog, title="Hello", **fields)))


def form_url(target: Target, parent: str = "") -> str:
    return reverse("comments-form", args=[target.label, target.pk]) + (f"?parent={parent}" if parent else "")


def fields_of(html: str) -> dict[str, str]:
    """Return the values in a page's comment form."""
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
    """Open the comment form, fill it in, and return its fields."""
    response = client.get(form_url(target, parent))
    assert response.status_code == 200
    return {**fields_of(response.content.decode()), "name": name, "text": text, **more}


def send(client: Client, data: dict[str, str]) -> Any:
    return client.post(reverse("comments-post-comment"), data)


def post(client: Client, target: Target, text: str = "Hello", **more: str) -> Any:
    """Open the comment form, fill it in, submit it, and return the response."""
    return send(client, fill(client, target, text, **more))


def close_gate(mongo, target, monkeypatch):
    """Block writes to a discussion for longer than writers wait, as a converter does at the end of a conversion."""
    monkeypatch.setattr("marginalia.comments.backends.discussions.PATIENCE", 0)
    in_a_minute = now() + timedelta(minutes=1)
    moving = {"id": ObjectId(), "to": "buckets", "order": "oldest", "renumber": False, "beat": now(), "epoch": 2}
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"moving": {**moving, "gate": in_a_minute}}})


def post_directly(target: Target, source: str = "First", token: str = "t1", **more: Any) -> Comment:
    """Post a comment without using the forms, and return it."""
    return services.post(target, author=CommentAuthor("Bea"), source=source, token=token, **more).comment


def change_url(name: str, comment: Comment) -> str:
    """Return the URL of one of a comment's pages, such as "edit", "delete", "flag" or "thread"."""
    return reverse(f"comments-{name}", args=[comment.target.label, comment.target.pk, comment.slug])


@contextmanager
def received(signal, result=None):
    """Yield a list that collects the arguments of a signal sent in the block. The receiver returns `result`."""
    received_arguments = []

    def receive(sender, **arguments):
        del arguments["signal"]
        received_arguments.append(arguments)
        return result

    signal.connect(receive)
    try:
        yield received_arguments
    finally:
        signal.disconnect(receive)


def work() -> None:
    """Run all due jobs."""
    while worker.work():
        pass


def last_link(part: str) -> str:
    """Return the path of the link in the last email that points to a page under /comments/."""
    return re.search(rf"http://testserver(/comments/{part}/\S+)", mail.outbox[-1].body)[1]
