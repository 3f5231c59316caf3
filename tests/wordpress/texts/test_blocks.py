"""Blocks whose contents are stored elsewhere: synced patterns and footnotes, and link targets."""

import json

import pytest

from marginalia.markup.html import clean
from tests.support.wxr import export, item, meta, page
from tests.wordpress.stored import html_of, stored
from tests.wordpress.texts.converted import BASE, Library, body
from wordpress.texts import blocks
from wordpress.texts.content import Body, convert

NOTE = "0f0f0f0f-aaaa-4bbb-8ccc-1234567890ab"
MARK = f'<sup data-fn="{NOTE}" class="fn"><a href="#{NOTE}" id="{NOTE}-link">1</a></sup>'
TEXT = f"<!-- wp:paragraph --><p>Claim{MARK}.</p><!-- /wp:paragraph --><!-- wp:footnotes /-->"
NOTES = json.dumps([{"content": 'Where <em>it</em> is from <a href="/about/">x</a>', "id": NOTE}])


class TestFootnotes:
    def test_marks_and_notes_link_to_each_other(self, mongo, run, client):
        said = run(
            export(item(1, "One", TEXT, meta("footnotes", NOTES)), page(2, "About", link="https://old.example/about/"))
        )
        assert "Left out of texts:" not in said
        text = stored(mongo)["blog/post-1"]["detail"]["text"]
        assert text == "Claim[^1].\n\n[^1]: Where *it* is from [x](/page-2)"
        shown = client.get("/blog/post-1").content.decode()
        # The theme treats them like footnotes typed here.
        assert 'class="margin-note" id="s-fn:1"' in shown

    def test_mark_without_its_note_is_reported(self):
        found = body(TEXT)
        assert "<sup>1</sup>" in found.html
        assert found.lost == ("the footnote 1",)

    @pytest.mark.parametrize("stored", ["{", '{"a": 1}', "[1]", '[{"id": "x"}]', "[" * 100_000, "7"])
    def test_unreadable_notes_are_reported(self, stored):
        found = convert("Text", BASE, Library(), stored)
        assert found.lost == ("footnotes that can't be read",)
        assert found.html == "<p>Text</p>"

    def test_notes_hidden_on_the_old_site_are_dropped(self):
        assert convert("Text", BASE, Library(), NOTES).html == "<p>Text</p>"


class TestPatterns:
    USED = '<!-- wp:paragraph --><p>Intro.</p><!-- /wp:paragraph --><!-- wp:block {"ref":8} /-->'
    HOURS = item(8, "Hours", "<!-- wp:paragraph --><p>Open 9 to 5.</p><!-- /wp:paragraph -->", post_type="wp_block")

    def test_pattern_is_replaced_by_its_content(self, mongo, run):
        said = run(export(item(1, "One", self.USED), self.HOURS))
        assert stored(mongo)["blog/post-1"]["detail"]["text"] == "Intro.\n\nOpen 9 to 5."
        assert not any("wp_block" in line or "Left out" in line for line in said)

    @pytest.mark.parametrize("status", ["draft", "trash", None])
    def test_hidden_pattern_is_reported_by_post(self, mongo, run, status):
        items = [item(8, "Hours", "secret", post_type="wp_block", status=status)] if status else []
        said = run(export(item(1, "One", self.USED), *items))
        assert said[said.index("Left out of texts:") + 1] == "  post 1 “One”: the synced pattern 8"

    def test_circular_patterns_end(self):
        class Circle(Library):
            def pattern(self, number: int) -> str | None:
                return f'a<!-- wp:block {{"ref":{1 - number}}} /-->' if number < 2 else None

        found = convert('<!-- wp:block {"ref":0} /-->', BASE, Circle())
        assert "aa" in found.html
        assert found.lost == ("the synced pattern 0",)

    def test_multiplying_patterns_are_bounded(self):
        class Many(Library):
            def pattern(self, number: int) -> str | None:
                return "".join(f'<!-- wp:block {{"ref":{number * 10 + n}}} /-->' for n in range(10)) + "word "

        found = convert('<!-- wp:block {"ref":1} /-->', BASE, Many())
        assert found.html.count("word") <= blocks.MAX_PATTERNS
        assert found.lost

    def test_changes_of_a_pattern_in_a_post_are_reported(self):
        found = body('<!-- wp:block {"ref":8,"content":{"x":{"content":"Open 8 to 4."}}} /-->')
        assert "Open 9 to 5." in found.html
        assert found.lost == ("the post's changes to the synced pattern 8",)


class TestDroppedBlocks:
    @pytest.mark.parametrize(
        ("source", "lost"),
        [
            ("<!-- wp:latest-posts /-->", ("the block latest-posts",)),
            ('<!-- wp:acme/map {"at":"x"} /--> <!-- wp:acme/map {"at":"y"} /-->', ("the block acme/map",)),
            ("<!-- wp:paragraph /--><!-- wp:separator --><hr><!-- /wp:separator -->", ()),
            ("<form><input name='a'></form>", ("<form>", "<input>")),
            ("<script>x()</script><svg><path/></svg>", ("<script>", "<svg>")),
            ('<script src="https://gist.github.com/a/b.js"></script>', ()),
            ("<iframe></iframe>", ("<iframe>",)),
            ('<iframe src="https://x.example/"></iframe>', ()),
        ],
    )
    def test_dropped_block_is_reported_once(self, source, lost):
        assert body(source).lost == lost

    def test_report_lists_dropped_blocks_by_post(self, mongo, run):
        said = run(export(item(1, "One", "<!-- wp:latest-posts /--> [booking x=1]")))
        listed = said[said.index("Left out of texts:") + 1 :]
        assert listed[0] == "  post 1 “One”: [booking], the block latest-posts"


class TestPlaces:
    @pytest.mark.parametrize(
        "place", ['<a name="part2"></a>', '<a name="part2" href="/x">y</a>', "<a NAME=part2>z</a>"]
    )
    def test_named_anchor_can_be_linked(self, place):
        html = clean(body(f'<p><a href="#part2">To part 2</a></p><p>{place}Part 2</p>').html, "article")
        assert '<a href="#s-part2">' in html
        assert html.count('id="s-part2"') == 1

    def test_link_to_an_anchor_in_another_post_leads_there(self, mongo, run, client):
        first = '<a href="/?p=2#part2">x</a> <a href="https://old.example/2012/03/post-2/#respond">y</a>'
        run(export(item(1, "One", first), item(2, "Two", '<a name="part2"></a>Part 2')))
        text = html_of(stored(mongo)["blog/post-1"])
        assert 'href="/blog/post-2#s-part2"' in text
        assert 'href="/blog/post-2#comments"' in text
        assert 'id="s-part2"' in client.get("/blog/post-2").content.decode()


def test_plain_text_loses_nothing():
    assert body("One\n\nTwo") == Body("<p>One</p>\n<p>Two</p>", (), ())


def test_blanks_in_a_marker_are_read_once():
    # Reading from each of them would take hours.
    assert body(f"<!-- wp:image{' ' * 500_000}- -->Words").html == "Words"
