"""python -m benchmarks.wagtail_site.write FILE: comment on posts and save them, like benchmarks/busy_site.py.

The file contains the slugs of the posts, most popular first. Writing continues until the input ends. The program prints
one line when it begins to write, and the number of writes of each kind as JSON when it ends.
"""

import html
import json
import random
import sys
from pathlib import Path

import django

from benchmarks import busy_site, content


def main(file: Path) -> None:
    """Write until the input ends, and print the number of writes of each kind."""
    django.setup()
    from benchmarks.wagtail_site.models import Post

    ids = dict(Post.objects.values_list("slug", "pk"))
    posts = [ids[slug] for slug in json.loads(file.read_text())]
    with busy_site.repeat_on_posts(posts, {comment: busy_site.COMMENT_EVERY, save: busy_site.SAVE_EVERY}) as counts:
        print("begun", flush=True)
        sys.stdin.read()
    print(json.dumps(counts))


def comment(generator: random.Random, post: int) -> None:
    """Post a comment in the same way as django-comments-xtd's view does for a valid form."""
    from django.utils import timezone
    from django_comments_xtd.models import XtdComment

    from benchmarks.wagtail_site.models import Post

    XtdComment.objects.create(
        content_object=Post.objects.get(pk=post),
        site_id=1,
        user_name=f"Reader {generator.randrange(997)}",
        comment="\n\n".join(generator.sample(content.SENTENCES, 2)),
        submit_date=timezone.now(),
    )


def save(generator: random.Random, post: int) -> None:
    """Append a sentence to a post and publish it."""
    from benchmarks.wagtail_site.models import Post

    page = Post.objects.get(pk=post)
    page.body += f"<p>{html.escape(generator.choice(content.SENTENCES))}</p>"
    page.save_revision().publish()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
