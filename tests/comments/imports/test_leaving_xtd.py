"""A project with 1,000 comments of django-comments-xtd follows "Leave django-comments-xtd" in the guide, block by block."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.comments.shop_project import BLOCK, ROOT, write_project

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/how-to/import-comments.md").read_text()
STEPS = PAGE.partition("\n## Leave django-comments-xtd\n")[2].partition("\n### ")[0]
DATABASE = "test_leaving_xtd"

COMMON = 'INSTALLED_APPS += ["django.contrib.sites"]\nSITE_ID = 1\nROOT_URLCONF = "urls"\n'
# The project before its owner opens the guide.
BEFORE = """
INSTALLED_APPS = [app for app in INSTALLED_APPS if "marginalia" not in app]
INSTALLED_APPS += ["django_comments_xtd", "django_comments", "rest_framework"]
COMMENTS_APP = "django_comments_xtd"
COMMENTS_XTD_MAX_THREAD_LEVEL = 5
COMMENTS_XTD_CONFIRM_EMAIL = False
ROOT_URLCONF = "old_urls"
"""
OLD_URLS = """
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("comments/", include("django_comments_xtd.urls")),
    path("items/<str:pk>", lambda request, pk: HttpResponse(pk), name="item"),
]
"""
# Fill the tables, and write what django-comments-xtd shows to a file.
FILL = """
import json, random
from datetime import timedelta
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from django_comments.models import CommentFlag
from django_comments_xtd.models import DISLIKEDIT_FLAG, LIKEDIT_FLAG, XtdComment
from shop.models import Item

chance = random.Random(49)
users = [User.objects.create_user(f"user{n}", f"user{n}@example.org") for n in range(30)]
items = [Item.objects.create(name=f"Item {n}") for n in range(40)]
begun = timezone.now() - timedelta(days=900)
made = []
for n in range(1000):
    item = chance.choice(items)
    above = [c for c in made if c.object_pk == str(item.pk) and c.level < 5]
    user = chance.choice([None, *users])
    comment = XtdComment(
        content_object=item, site_id=1, user=user, user_name=f"Reader {n % 50}", user_email=f"r{n % 50}@example.org",
        comment=f"Text {n} with <b>no</b> *markup*\\nand a second line", submit_date=begun + timedelta(minutes=n),
        parent_id=chance.choice(above).pk if above and chance.random() < 0.6 else 0,
    )
    comment.save()
    made.append(comment)
    kinds = (LIKEDIT_FLAG, DISLIKEDIT_FLAG)
    CommentFlag.objects.bulk_create(
        CommentFlag(comment=comment, user=liker, flag=chance.choice(kinds), flag_date=begun)
        for liker in chance.sample(users, chance.randrange(4))
    )
ids = [comment.pk for comment in made]
XtdComment.objects.filter(pk__in=chance.sample(ids, 30)).update(is_removed=True)
XtdComment.objects.filter(pk__in=chance.sample(ids, 30), is_removed=False).update(is_public=False)
rows = []
for comment in XtdComment.objects.order_by("pk"):
    flags = [flag.flag for flag in comment.flags.all()]
    rows.append({
        "id": comment.pk, "item": comment.object_pk, "parent": comment.parent_id, "text": comment.comment,
        "user": comment.user_id, "name": comment.user_name, "public": comment.is_public, "removed": comment.is_removed,
        "posted": comment.submit_date.isoformat(timespec="milliseconds"),
        "likes": flags.count(LIKEDIT_FLAG), "dislikes": flags.count(DISLIKEDIT_FLAG),
        "url": comment.get_absolute_url(),
    })
json.dump(rows, open("expected.json", "w"))
print("filled")
"""
# Compare all of it with the imported comments.
COMPARE = """
import json, html
from urllib.parse import urlsplit
from django.test import Client
from marginalia.comments.backends import backend
from marginalia.comments.reading import selectors
from marginalia.comments.targets import target_for
from shop.models import Item

rows = json.load(open("expected.json"))
by_id = {row["id"]: row for row in rows}
imported = {document["_id"]: document for document in backend().imported.stored.find()}
targets = {str(item.pk): target_for(item) for item in Item.objects.all()}
found = {str(target): {c.slug: c for c in selectors.iterate(target)} for target in targets.values()}
likes = {str(target): selectors.likes(target) for target in targets.values()}
held = {c.source: c for target in targets.values() for c in selectors.held(target=target)}
shown = [row for row in rows if row["public"]]
assert sum(map(len, found.values())) == len(shown), (len(shown), {t: len(c) for t, c in found.items()})
assert len(held) == len(rows) - len(shown)
public = [row for row in shown if not row["removed"]]
assert sum(selectors.count(target) for target in targets.values()) == len(public)

def plain(comment):
    return html.unescape(comment.html.replace("<p>", "").replace("</p>", "").replace("<br>", "").replace("<br />", ""))

def stored(row):
    target = targets[row["item"]]
    return found[str(target)][imported[f"{target.id}#c{row['id']}"]["slug"]]

client = Client()
for row in shown:
    comment, target = stored(row), targets[row["item"]]
    parent = by_id.get(row["parent"] if row["parent"] != row["id"] else None)
    while parent and not parent["public"]:
        parent = by_id.get(parent["parent"] if parent["parent"] != parent["id"] else None)
    assert comment.answers == (stored(parent).slug if parent else ""), row
    assert comment.posted.isoformat(timespec="milliseconds") == row["posted"], row
    assert comment.removed == row["removed"], row
    if not comment.removed:
        assert plain(comment).split() == row["text"].split(), (comment.html, row)
        assert comment.author.name == row["name"], row
        assert comment.author.id == (str(row["user"]) if row["user"] else None), row
    dislikes = imported[f"{target.id}#c{row['id']}"]["dislikes"]
    assert (likes[str(target)].get(comment.slug, 0), dislikes) == (row["likes"], row["dislikes"]), row
    address = urlsplit(row["url"])
    answer = client.get(address.path)
    assert urlsplit(answer["Location"]).path == f"/items/{row['item']}", (row, answer)
    answer = client.get(f"/comments/old/{target.label}/{target.pk}?anchor={address.fragment}")
    assert answer["Location"].endswith(f"#c-{comment.part}"), (row, answer["Location"])
page = client.get(f"/items/{rows[0]['item']}").content.decode()
assert "comment-list" in page and "Text" in page, page
print("compared", len(rows))
"""


@pytest.fixture
def project(tmp_path, mongo):
    """The project of the other guide, in which django-comments-xtd is still installed."""
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    requirements = Path(__file__).with_name("xtd_requirements.txt")
    subprocess.run([*pip, "--target", packages, "-r", requirements], check=True)
    folder = tmp_path / "project"
    files = {"old_urls.py": OLD_URLS, "old_settings.py": "from settings import *\n" + BEFORE}
    write_project(folder, "sql", database=DATABASE, files=files, settings=COMMON)
    yield folder
    mongo.client.drop_database(f"{DATABASE}_comments")


def test_guide_leads_from_xtd_to_the_same_comments(project):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(project),
        "MONGODB_URI": os.environ["TEST_MONGODB_URI"],
        "PYTHONPATH": f"{project}:{ROOT}:{project.parent / 'packages'}",
    }

    def run(*words: str, **changes: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=project,
            env=environment | changes,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def manage_old(*words: str) -> str:
        code = "import sys; from django.core.management import execute_from_command_line as e; e(['manage.py', *sys.argv[1:]])"
        return run("-c", code, *words, DJANGO_SETTINGS_MODULE="old_settings")

    manage_old("makemigrations", "shop")
    manage_old("migrate")
    assert "filled" in manage_old("shell", "-c", FILL)
    # Step 1 is the other guide, which test_plug_in.py follows.
    run("manage.py", "migrate")
    run("manage.py", "setup_indexes")
    said = []
    for language, title, indented in BLOCK.findall(STEPS):
        text = dedent(indented)
        if title:
            (project / title).write_text(text)
            continue
        assert language == "sh", text
        said += [run(*shlex.split(line)[1:]) for line in text.strip().splitlines()]
    assert "Dry run: would import 40 discussions with 1,000 comments." in said[0]
    assert "40 discussions with 1,000 comments: 1,000 new." in said[1]
    assert "compared 1000" in run("manage.py", "shell", "-c", COMPARE)
    assert "1,000 comments: 0 new." in run("manage.py", "import_comments", "--from", "django-comments-xtd")
