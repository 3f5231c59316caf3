"""python -m benchmarks.wagtail_site.write FILE: comment on posts and save them, as benchmarks/busy_site.py does, until the
input ends; the file has their slugs, the most read first. Printed are a line once it has begun, and at last what was done."""

import html
import json
import random
import sys
from pathlib import Path

import django

from benchmarks import busy_site, content


def main(file: Path) -> None:
    """Write until the input ends."""
    django.setup()
    from benchmarks.wagtail_site.models import Post

    ids = dict(Post.objects.values_list("slug", "pk"))
    posts = [ids[slug] for slug in json.loads(file.read_text())]
    with busy_site.at_their_pace(posts, {comment: busy_site.COMMENT_EVERY, save: busy_site.SAVE_EVERY}) as done:
        print("begun", flush=True)
        sys.stdin.read()
    print(json.dumps(done))


def comment(dice: random.Random, post: int) -> None:
    """Post a comment, as the view of django-comments-xtd does once it has checked the form."""
    from django.utils import timezone
    from django_comments_xtd.models import XtdComment

    from benchmarks.wagtail_site.models import Post

    XtdComment.objects.create(
        content_object=Post.objects.get(pk=post),
        site_id=1,
        user_name=f"Reader {dice.randrange(997)}",
        comment="\n\n".join(dice.sample(content.SENTENCES, 2)),
        submit_date=timezone.now(),
    )


def save(dice: random.Random, post: int) -> None:
    """Add a sentence at the end of a post, and publish it."""
    from benchmarks.wagtail_site.models import Post

    page = Post.objects.get(pk=post)
    page.body += f"<p>{html.escape(dice.choice(content.SENTENCES))}</p>"
    page.save_revision().publish()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
