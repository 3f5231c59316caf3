"""Avatars and badges beside a comment."""

import colorsys
import re
from pathlib import Path

import pytest
from django.template import Context, Template

from marginalia.comments import conf
from marginalia.comments.posting import services
from marginalia.comments.reading import presenter
from marginalia.comments.reading.presenter import HUES, avatar
from marginalia.comments.types import CommentAuthor
from nodes.selectors import stored_nodes
from tests.support.comments import site

SHEET = (Path(conf.__file__).parent / "static/comments/comments.css").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "initials"),
    [
        ("Ann", "A"),
        ("ann lee", "AL"),
        ("Ann van der Lee", "AL"),
        ("“Ann” (the) 2nd", "A2"),
        ("王小明", "王"),
        ("<b>", "B"),
        ("& <", "?"),
        ("ßen", "S"),
    ],
)
def test_initials_are_of_the_first_and_last_word(name, initials):
    assert avatar(name)[0] == initials


def test_colour_is_derived_from_the_name():
    hues = {avatar(f"Name {n}")[1] for n in range(200)}
    assert avatar("Ann") == avatar("Ann")
    assert hues == {str(n) for n in range(1, HUES + 1)} == set(re.findall(r"\.comment-hue-(\d+) ", SHEET))


def test_initials_are_readable_in_every_colour():
    (rule,) = re.findall(r"^\.comment-avatar \{.*?\}", SHEET, re.MULTILINE | re.DOTALL)
    background, ink = (_light_and_dark(rule, name) for name in ("background", "color"))
    for hue in re.findall(r"--comment-hue: (\d+)", SHEET):
        for scheme in (0, 1):
            assert _contrast(_luminance(int(hue), *background[scheme]), _luminance(int(hue), *ink[scheme])) >= 4.5


def _light_and_dark(rule: str, name: str) -> list[tuple[int, int]]:
    value = re.search(rf"[; ]{name}: light-dark\((.*?\)) *, *(hsl.*?)\)[;)]", rule)
    assert value
    return [tuple(map(int, re.findall(r"(\d+)%", part))) for part in value.groups()]


def _luminance(hue: int, saturation: int, lightness: int) -> float:
    channels = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def badges(target) -> dict[str, list[str]]:
    """Return the badges of each comment on a node, by its author's name."""
    source = "{% load comments %}{% render_comment_list for node %}"
    html = Template(source).render(Context({"node": stored_nodes.get(target.pk)}))
    return {
        re.search(r"comment-author\">(.*?)<", part)[1]: re.findall(r'comment-badge">(\w+)<', part)
        for part in html.split('<li class="comment ')[1:]
    }


def test_only_page_authors_and_moderators_have_a_badge(client, post_page, mongo, ann, moderator):
    written = {"metadata.author": {"_id": ann.pk, "name": "Ann"}}
    mongo["cms.nodes"].update_one({"metadata.slug": "hello"}, {"$set": written})
    services.post(post_page, author=CommentAuthor("Ann", id=str(ann.pk)), source="Mine", token="a")
    # A name proves nothing.
    services.post(post_page, author=CommentAuthor("Ann Other"), source="Not mine", token="b")
    client.force_login(moderator)
    site.post(client, post_page, "As a moderator")
    assert badges(post_page) == {"Ann": ["Author"], "Ann Other": [], "mona": ["Moderator"]}
    stored = list(mongo["comments"].find({"discussion_id": post_page.id}).sort("number", 1))
    assert [one["author"].get("moderator") for one in stored] == [None, None, True]
    moderator.user_permissions.clear()
    assert badges(post_page)["mona"] == ["Moderator"]


def test_page_without_an_account_shows_no_author_badge(post_page):
    services.post(post_page, author=CommentAuthor("None"), source="Hello", token="a")
    assert badges(post_page) == {"None": []}


def test_equal_comments_render_the_shipped_template_once(post_page, monkeypatch):
    for name in ("Ann", "Bob", "Cleo"):
        services.post(post_page, author=CommentAuthor(name), source="Hello", token=name)
    rendered = []
    render = Template.render

    def record(template, context):
        rendered.append(template.name)
        return render(template, context)

    monkeypatch.setattr(Template, "render", record)
    presenter._forms.clear()
    assert list(badges(post_page)) == ["Ann", "Bob", "Cleo"]
    assert rendered.count("comments/comment.html") == 1
