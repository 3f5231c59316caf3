"""python -m benchmarks.wagtail_site.fill FILE: create the tables, and a page with comments for each node in the file.

The file contains JSON from our API.
"""

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
    """Fill an empty database. Migrations are written to the folder of the file."""
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
            _add_comments(post, node["comments"])
    # Without these statistics, SQLite would use the wrong index to find the comments of a post.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _section(sections: dict[str, Any], path: str) -> Any:
    """Return the page at `path`. If it doesn't exist, create it and its ancestors."""
    from wagtail.models import Page

    if path not in sections:
        parent_path, _, slug = path.rpartition("/")
        page = Page(title=slug.replace("-", " ").capitalize(), slug=slug)
        sections[path] = _section(sections, parent_path).add_child(instance=page)
    return sections[path]


def _add_comments(post: Any, comments: list[dict[str, str]]) -> None:
    """Insert the rows that posting these comments would create. Posting them one by one would take ten times as long."""
    from django.contrib.contenttypes.models import ContentType
    from django_comments.models import Comment
    from django_comments_xtd.models import XtdComment

    type = ContentType.objects.get_for_model(post)
    rows = []
    threaded_rows = []
    for comment, place in zip(comments, thread_places(comments, Comment.objects.count() + 1), strict=True):
        fields = {
            "content_type": type,
            "object_pk": str(post.pk),
            "site_id": 1,
            "user_name": comment["name"],
            "user_url": comment["url"],
            "comment": comment["text"],
            "submit_date": datetime.fromisoformat(comment["posted"]),
        }
        rows.append(Comment(id=place["id"], **fields))
        threaded_rows.append(XtdComment(**fields, **place, comment_ptr_id=place["id"]))
    Comment.objects.bulk_create(rows)
    for row in threaded_rows:
        row.save_base(raw=True, force_insert=True)


def thread_places(comments: Sequence[Mapping[str, str]], first: int) -> list[dict[str, int]]:
    """Return django-comments-xtd's fields for the place of each comment, with ids from `first`.

    Parents must precede their replies.
    """
    paths: dict[str, tuple[int, ...]] = {"": ()}
    places: dict[int, dict[str, int]] = {}
    for id, comment in enumerate(comments, first):
        path = paths[comment["slug"]] = (*paths[comment["parent"]], id)
        # A root is its own parent.
        parent = path[-2] if len(path) > 1 else id
        places[id] = {"id": id, "parent_id": parent, "thread_id": path[0], "level": len(path) - 1, "nested_count": 0}
        for ancestor in path[:-1]:
            places[ancestor]["nested_count"] += 1
    del paths[""]
    positions: Counter[int] = Counter()
    for path in sorted(paths.values()):
        positions[path[0]] += 1
        places[path[-1]]["order"] = positions[path[0]]
    return list(places.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
