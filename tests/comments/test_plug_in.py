"""The built wheel in a new virtual environment, in two small projects.

The steps follow docs/how-to/add-comments-to-your-project.md.
"""

import os
import subprocess
import sys

import pytest

from tests.support.clone import copy_clone
from tests.support.comments.shop_project import BLOCK, GUIDE, write_project

# A program fills in forms faster than people do.
QUICK = 'COMMENTS["MIN_SECONDS"] = 0\n'
TESTS = """
from django.test import TransactionTestCase
from marginalia.comments.reading import selectors
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from shop.models import Item


class ItemTest(TransactionTestCase):
    databases = "__all__"

    def test_comment(self):
        item = Item.objects.create(name="Cup")
        services.post(item, author=CommentAuthor("Ann"), source="Mine", token="1")
        self.assertEqual(selectors.count(item), 1)
"""

# The actions of a visitor.
VISIT = """
from django.core.management import call_command
from django.template import Context, Template
from django.test import Client
from django.contrib.staticfiles import finders
from marginalia.comments.reading import selectors
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from shop.models import Item

def sees(page, sheet):
    assert f'href="/static/{sheet}"' in page and finders.find(sheet), page
    assert ".comment-trap" in open(finders.find(sheet)).read()

hidden = Item.objects.create(name="Secret", published=False)
item = Item.objects.create(name="Teapot")
client = Client()
page = client.get(item.get_absolute_url()).content.decode()
assert "Teapot" in page and "No comments yet" in page and "<form" in page, page
sees(page, "comments/comments.css")
for name in ("on", "form", "feed"):
    assert client.get(f"/comments/{name}/shop.item/{item.pk}").status_code == 200, name
    answer = client.get(f"/comments/{name}/shop.item/{hidden.pk}")
    assert answer.status_code == 404 and "Secret" not in answer.content.decode(), name
assert client.get(f"/comments/on/shop.item/{10**30}").status_code == 404
token = page.partition('name="token" value="')[2].partition('"')[0]
sent = client.post("/comments/post", {"token": token, "name": "Dee", "text": "Held at first"})
assert sent.status_code == 302, sent.content.decode()
assert [held.source for held in selectors.held()] == ["Held at first"]
first = services.post(item, author=CommentAuthor("Ann"), source="A *fine* pot", token="1").comment
services.post(item, author=CommentAuthor("Bob"), source="Indeed", token="2", parent=first.slug)
page = client.get(item.get_absolute_url()).content.decode()
assert "A <em>fine</em> pot" in page and "Bob" in page and "2 comments" in page, page
assert "in reply to <bdi>Ann</bdi>" in page, page

def render(source):
    user = type("User", (), {"pk": "7"})()
    return Template("{% load comments %}" + source).render(Context({"item": item, "pk": item.pk, "first": first, "user": user}))

mine = services.post(item, author=CommentAuthor("Cy", id="7"), source="Mine", token="3").comment
names = "{% for c in list %}{{ c.author.name }}@{{ c.depth }} {% endfor %}"
both = "{% get_comment_count for item as n %}{{ n }} {% get_comment_count for shop.item pk as m %}{{ m }}"
assert render(both) == "3 3"
assert render('{% get_comment_list for item order="newest" page=1 page_size=2 as list %}' + names) == "Bob@1 Ann@0 "
assert render('{% get_comment_list for shop.item pk order="oldest" as list %}' + names) == "Ann@0 Bob@1 Cy@0 "
assert "in reply to <bdi>Ann</bdi>" in render('{% render_comment_list for shop.item pk order="threaded" page_size=10 %}')
assert 'name="token"' in render("{% get_comment_form for shop.item pk as form %}{{ form.as_p }}")
assert "/comments/post" in render("{% render_comment_form for item %}")
assert "Write a comment" in render("{% render_comment_form_link for item %}")
assert first.slug in render("{% get_comment_permalink first %}")
assert render("{% get_recent_comments 2 as list %}" + names) == "Cy@0 Bob@1 "
assert render("{% get_comments_by user as list %}{% for c in list %}{{ c.obj.name }}{% endfor %}") == "Teapot"
services.remove(item, mine.slug)
call_command("convert_comments", "--to", "buckets", "--order", "threaded")
call_command("check_comments")
assert [c.source for c in selectors.iterate(item)] == ["A *fine* pot", "Indeed", ""]
assert client.get(f"/comments/c/{first.target.label}/{first.target.pk}/{first.slug}").status_code == 302
print("visited")
"""
# The same page during an outage of MongoDB.
VISIT_WITHOUT = """
from django.test import Client
from shop.models import Item
page = Client().get(Item.objects.get(name="Teapot").get_absolute_url())
assert page.status_code == 200 and "Teapot" in page.content.decode(), page
assert "Comments can't be shown right now." in page.content.decode(), page.content.decode()
print("visited without")
"""


QUIET = ["--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as the guide describes from a copy of the repository's files, so that nothing is built into it."""
    source = copy_clone(tmp_path_factory.mktemp("source"))
    (build,) = [text.split()[1:] for _, _, text in BLOCK.findall(GUIDE) if text.startswith("python -m pip wheel")]
    subprocess.run([sys.executable, *build, *QUIET], cwd=source, check=True)
    (wheel,) = source.glob("dist/*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The Python of a new virtual environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    subprocess.run([python, "-m", "pip", "install", *QUIET, wheel], check=True)
    return python


@pytest.mark.slow
def test_suite_of_comments_passes_over_the_installed_wheel(wheel, tmp_path):
    clone = copy_clone(tmp_path / "clone", "comments", "marginalia")
    installed = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", *QUIET, "--no-deps", "-t", installed, wheel], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow", "tests/comments"],
        cwd=clone,
        # Without the variables of this run, the suite starts its own server and doesn't touch this run's databases.
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sql", "mongodb"])
def test_guide_produces_working_comments(python, kind, tmp_path, mongo):
    project = tmp_path / kind
    write_project(project, kind, database=f"test_plug_{kind}_shop", files={"shop/tests.py": TESTS}, settings=QUICK)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MONGODB_URI": os.environ["TEST_MONGODB_URI"],
    }

    def run(*words, **changes):
        done = subprocess.run(
            [python, *words], cwd=project, env=env | changes, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    if kind == "mongodb":
        run("manage.py", "makemigrations", "auth", "contenttypes")
    (commands,) = [text for kind_, name, text in BLOCK.findall(GUIDE) if "manage.py migrate" in text and not name]
    try:
        for line in commands.strip().splitlines():
            run(*line.split()[1:])
        assert "visited" in run("manage.py", "shell", "-c", VISIT)
        assert not (project / "mails").exists()
        (work,) = [text.split()[1:] for _, _, text in BLOCK.findall(GUIDE) if text.strip() == "python manage.py work"]
        run(*work, "--once")
        (mail,) = [path.read_text() for path in (project / "mails").iterdir()]
        assert "/comments/approve/" in mail
        assert "OK" in run("manage.py", "test", "--noinput", "-v", "2")
        assert "0 errors" in run("manage.py", "doctor")
        if kind == "sql":
            away = "mongodb://127.0.0.1:9/?replicaSet=away"
            assert "visited without" in run("manage.py", "shell", "-c", VISIT_WITHOUT, MONGODB_URI=away)
        assert "nodes" not in run("-m", "pip", "list", "--format=freeze")
    finally:
        for name in mongo.client.list_database_names():
            if name.startswith(f"test_plug_{kind}_"):
                mongo.client.drop_database(name)
