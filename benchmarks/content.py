"""Content of the measured pages: a realistic discussion and a photo. It is identical in every run."""

import random
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

SENTENCES = (
    "A margin is where a reader answers, and *no one* asked for it.",
    "I have kept [a list](https://example.org/lists) of such notes for years.",
    "My copy has them in two hands, one of which must be my grandfather's!",
    "> Never in ink\n\nsays the librarian, and rightly.",
    "What about `pencil`? It fades & smudges, but it can be taken back.",
    "This is the best that I have read on it, thank you.",
)


def add_comments(node: Any, count: int) -> None:
    """Add `count` comments to a node. Half of them are replies to one of the previous ten comments."""
    from marginalia.comments.operations import importing
    from marginalia.mongo.clock import now

    importing.import_(node, _comments(count, now() - timedelta(days=60)))


def _comments(count: int, started: Any) -> Iterator[Any]:
    from marginalia.comments import slugs
    from marginalia.comments.posting import preparation
    from marginalia.comments.types import CommentAuthor, NewComment

    generator = random.Random(9)
    recent: list[str] = []
    for number in range(count):
        source = "\n\n".join(generator.sample(SENTENCES, generator.randrange(1, 4)))
        parent = generator.choice(recent) if recent and generator.random() < 0.5 else ""
        if parent.count("/") > 5:
            parent = ""
        new = NewComment(
            author=CommentAuthor(f"Reader {number % 37}", url="https://example.org/me" if number % 5 == 0 else ""),
            source=source,
            html=preparation.render(source),
            token=f"bench {number}",
            parent=parent,
            posted=started + timedelta(minutes=11 * number),
        )
        recent = [*recent[-9:], slugs.join(parent, slugs.part(new.token))]
        yield new


def publish_photo() -> str:
    """Publish a photo in a new gallery, and return its path."""
    from bson import ObjectId
    from PIL import Image

    from marginalia.mongo.clock import now
    from nodes.access import System
    from nodes.models import tree
    from nodes.services import editing
    from nodes.types import Actor
    from photos.actions import UploadPhoto

    published = now() - timedelta(days=1)
    actor = Actor(None, "Ada")
    gallery: ObjectId = editing.create(
        actor, type="gallery", parent_id=None, slug="bench", title="Bench", fields={"published": published}
    ).id
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lake.jpg"
        Image.linear_gradient("L").resize((2_000, 1_500)).convert("RGB").save(file)
        UploadPhoto(
            user=System(actor),
            gallery_id=gallery,
            filename=file.name,
            title="Lake",
            fields={"published": published, "detail.alt": "A lake"},
        ).execute([file.read_bytes()])
    return tree.current().url(gallery, "lake")
