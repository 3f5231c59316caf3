"""python -m benchmarks.wagtail_site.fill FILE: make the tables, and a page of every node in a JSON file of our API, with its
comments."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import django


def main(file: Path) -> None:
    """Fill an empty database; migrations are written beside the file."""
    migrations = file.with_name("made_migrations")
    migrations.mkdir()
    (migrations / "__init__.py").touch()
    sys.path.insert(0, str(file.parent))
    django.setup()
    from django.core.management import call_command
    from django.db import connection, transaction
    from wagtail.models import Site

    from benchmarks.wagtail_site.models import Post

    call_command("makemigrations", "wagtail_site", verbosity=0)
    call_command("migrate", verbosity=0)
    sections = {"": Site.objects.get().root_page}
    with transaction.atomic():
        for node in json.loads(file.read_text()):
            post = Post(
                title=node["title"],
                slug=node["slug"],
                summary=node["summary"],
                author=node["author"]["name"] if node["author"] else "",
                body=node["body_html"],
                first_published_at=datetime.fromisoformat(node["published"]),
            )
            post.tags.add(*node["tags"])
            _section(sections, unquote(node["path"]).rpartition("/")[0]).add_child(instance=post)
            _discuss(post, node["comments"])
    # What finds comments by post would else go by the wrong index.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _section(sections: dict[str, Any], path: str) -> Any:
    """Return the page at a path; it is made, with those above it, where there is none."""
    from wagtail.models import Page

    if path not in sections:
        above, _, slug = path.rpartition("/")
        page = Page(title=slug.replace("-", " ").capitalize(), slug=slug)
        sections[path] = _section(sections, above).add_child(instance=page)
    return sections[path]


def _discuss(post: Any, comments: list[dict[str, str]]) -> None:
    """Put comments under a post: the rows that posting them one after the other would leave, which takes ten times as long."""
    from django.contrib.contenttypes.models import ContentType
    from django_comments.models import Comment
    from django_comments_xtd.models import XtdComment

    type = ContentType.objects.get_for_model(post)
    made = []
    threaded = []
    for comment, place in zip(comments, threads(comments, Comment.objects.count() + 1), strict=True):
        said = {
            "content_type": type,
            "object_pk": str(post.pk),
            "site_id": 1,
            "user_name": comment["name"],
            "user_url": comment["url"],
            "comment": comment["text"],
            "submit_date": datetime.fromisoformat(comment["posted"]),
        }
        made.append(Comment(id=place["id"], **said))
        threaded.append(XtdComment(**said, **place, comment_ptr_id=place["id"]))
    Comment.objects.bulk_create(made)
    for row in threaded:
        row.save_base(raw=True, force_insert=True)


def threads(comments: Sequence[Mapping[str, str]], first: int) -> list[dict[str, int]]:
    """Return what django-comments-xtd notes of each comment's place, with ids from `first` on; parents come before replies."""
    paths: dict[str, tuple[int, ...]] = {"": ()}
    places: dict[int, dict[str, int]] = {}
    for id, comment in enumerate(comments, first):
        path = paths[comment["slug"]] = (*paths[comment["parent"]], id)
        # A root is its own parent.
        parent = path[-2] if len(path) > 1 else id
        places[id] = {"id": id, "parent_id": parent, "thread_id": path[0], "level": len(path) - 1, "nested_count": 0}
        for above in path[:-1]:
            places[above]["nested_count"] += 1
    del paths[""]
    read: Counter[int] = Counter()
    for path in sorted(paths.values()):
        read[path[0]] += 1
        places[path[-1]]["order"] = read[path[0]]
    return list(places.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
