"""python -m benchmarks.wagtail_site.fill FILE: make the tables, and a page of every node in a JSON file of our API."""

import json
import sys
from datetime import datetime
from pathlib import Path

import django


def main(file: Path) -> None:
    """Fill an empty database; migrations are written beside the file."""
    migrations = file.with_name("made_migrations")
    migrations.mkdir()
    (migrations / "__init__.py").touch()
    sys.path.insert(0, str(file.parent))
    django.setup()
    from django.core.management import call_command
    from django.db import transaction
    from wagtail.models import Site

    from benchmarks.wagtail_site.models import Post

    call_command("makemigrations", "wagtail_site", verbosity=0)
    call_command("migrate", verbosity=0)
    parent = Site.objects.get().root_page
    slugs: set[str] = set()
    with transaction.atomic():
        for node in json.loads(file.read_text()):
            post = Post(
                title=node["title"],
                slug=node["id"] if node["slug"] in slugs else node["slug"],
                summary=node["summary"],
                author=node["author"]["name"] if node["author"] else "",
                body=node["body_html"],
                first_published_at=datetime.fromisoformat(node["published"]),
            )
            slugs.add(post.slug)
            post.tags.add(*node["tags"])
            parent.add_child(instance=post)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
