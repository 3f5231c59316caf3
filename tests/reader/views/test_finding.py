"""Archives, search, sitemaps, and the page for missing URLs."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bson import ObjectId
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from nodes.collections import NODES, WORDS
from nodes.search import index
from nodes.selectors import search
from nodes.services import editing
from nodes.services.site import save_settings
from nodes.types import TagChange
from reader.selectors import sitemap
from tests.support.nodes import photo_build

SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture
def blog(mongo) -> ObjectId:
    return node("blog", "news", title="News")


def post(blog: ObjectId, slug: str, *when: int, **fields) -> ObjectId:
    return node("blog-entry", slug, parent=blog, published=datetime(*when, tzinfo=UTC), **fields)


class TestArchive:
    def test_months_with_posts_are_listed(self, client, blog):
        for slug, *when in (("a", 2021, 5, 1), ("b", 2021, 5, 31), ("c", 2021, 12, 31), ("d", 2023, 1, 1)):
            post(blog, slug, *when)
        node("blog-entry", "draft", parent=blog, published=None)
        node("blog-entry", "ahead", parent=blog, published=datetime(2900, 1, 1, tzinfo=UTC))
        months = client.get("/news/archive").context["months"]
        assert [(m.year, m.month, m.count) for m in months] == [(2023, 1, 1), (2021, 12, 1), (2021, 5, 2)]
        page = client.get("/news").content.decode()
        assert 'href="/news/archive"' in page
        page = client.get("/news/archive").content.decode()
        assert (page.count('<ol class="months">'), page.count("<li><a href=") >= 3) == (2, True)
        assert '<a href="/news/archive/2021/05"><span aria-hidden="true">May</span>' in page
        assert '<span class="visually-hidden">May 2021:</span> <span class="count">2</span></a>' in page
        assert '<li><span aria-hidden="true">Jun</span></li>' in page

    def test_dates_link_to_their_month_and_months_to_their_year(self, client, blog):
        post(blog, "a", 2021, 5, 31, 23, 30, tags=("t",))
        post(blog, "b", 2021, 8, 1)
        save_settings({"time_zone": "Europe/Berlin"}, {"time_zone": "UTC"})
        for address in ("/", "/news", "/news/a", "/tag/t"):
            assert '<a class="date" href="/news/archive/2021/06"><time' in client.get(address).content.decode(), address
        page = client.get("/news/archive/2021/06").content.decode()
        assert 'href="/news/archive/2021/06" aria-current="page"' in page
        assert '<a href="/news/archive/2021/08"><span aria-hidden="true">Aug</span>' in page
        assert 'aria-current="page"' not in client.get("/news/archive/2021").content.decode().partition('"months"')[2]

    def test_year_and_month_list_their_posts(self, client, blog):
        for slug, *when in (
            ("a", 2021, 5, 1),
            ("b", 2021, 5, 31, 23, 59, 59, 999000),
            ("c", 2021, 6, 1),
            ("d", 2022, 1, 1),
        ):
            post(blog, slug, *when)

        def slugs(address: str) -> list[str]:
            return [entry.metadata.slug for entry in client.get(address).context["listing"].nodes]

        assert slugs("/news/archive/2021") == ["c", "b", "a"]
        assert slugs("/news/archive/2021/05") == ["b", "a"]
        assert slugs("/news/archive/2022/01") == ["d"]
        for none in ("2020", "2021/07", "2021/13", "2021/5", "0000", "2999/12", "x"):
            assert client.get(f"/news/archive/{none}").status_code == 404, none
        assert client.get("/news/archive/2021/")["Location"] == "/news/archive/2021"

    def test_months_use_the_time_zone_of_the_site(self, client, blog):
        post(blog, "a", 2021, 5, 31, 23, 30)
        save_settings({"time_zone": "Europe/Berlin"}, {"time_zone": "UTC"})
        assert [m.month for m in client.get("/news/archive").context["months"]] == [6]
        assert client.get("/news/archive/2021/06").status_code == 200
        assert client.get("/news/archive/2021/05").status_code == 404

    def test_months_are_named_correctly_west_of_greenwich(self, client, blog):
        post(blog, "a", 2021, 5, 15)
        save_settings({"time_zone": "America/New_York"}, {"time_zone": "UTC"})
        assert '<span class="visually-hidden">May 2021:</span>' in client.get("/news/archive").content.decode()
        for address, title in (("/news/archive/2021", "2021"), ("/news/archive/2021/05", "May 2021")):
            assert f"<h1>{title}" in client.get(address).content.decode(), address

    def test_counts_change_at_due_times(self, client, blog):
        soon = now() + timedelta(milliseconds=400)
        post(blog, "a", 2021, 5, 1)
        node("blog-entry", "soon", parent=blog, published=soon)
        assert len(client.get("/news/archive").context["months"]) == 1
        while now() < soon:
            pass
        assert len(client.get("/news/archive").context["months"]) == 2

    def test_only_blogs_have_an_archive(self, client, mongo):
        node("folder", "folder")
        assert client.get("/folder/archive").status_code == 404


class TestSearch:
    @pytest.fixture(autouse=True)
    def content(self, blog):
        post(blog, "ink", 2021, 1, 1, title="Ink from oak galls", text="Brown letters of *Dona Amélia*, and margins.")
        post(blog, "paper", 2021, 1, 2, title="Choosing paper", text="Grain first. Ink later.", tags=("craft",))
        post(blog, "红楼梦", 2021, 1, 3, title="批注", text="读《红楼梦》的人，大多绕不开一个名字。")
        node("blog-entry", "draft", parent=blog, title="Secret ink", published=None)
        hidden = node("blog", "hidden", published=None)
        node("blog-entry", "there", parent=hidden, title="Hidden ink")

    def found(self, client, query: str) -> list[str]:
        answer = client.get("/search", {"q": query})
        assert answer.status_code == 200
        return [hit.node.metadata.slug for hit in answer.context["results"].hits]

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        ("query", "slugs"),
        [
            ("ink", ["ink", "paper"]),
            ("INK oak", ["ink"]),
            ("amelia", ["ink"]),
            ("margin", ["ink"]),
            ("craft", ["paper"]),
            ("红楼", ["红楼梦"]),
            ("红楼梦", ["红楼梦"]),
            ("楼", ["红楼梦"]),
            ("梦红", []),
            ("nowhere", []),
            ("oak nowhere", ["ink"]),
            ("AMELIA letters", ["ink"]),
            ("ink craft", ["paper"]),
            ("红楼 批注", ["红楼梦"]),
            ("letters amelia ink", ["ink"]),
            ("nowhere else", []),
            ('"oak" -galls', []),
            ("ink -grain", ["ink"]),
            ('"oak galls"', ["ink"]),
            ('"galls oak"', []),
            ("“ink later”", ["paper"]),
            ("letter", ["ink"]),
            ("choose", ["paper"]),
            ("gals", ["ink"]),
            ("lettres", ["ink"]),
            ("oakgalls", ["ink"]),
            ("tag:craft", ["paper"]),
            ("tag:craft oak", []),
            ("Tag:craft", ["paper"]),
            ("tag:, ink", ["ink", "paper"]),
            ("ink -tag:craft", ["ink"]),
            ("ink -author:ann", []),
            ("ink -in:news", []),
            ('ink -"oak galls"', ["paper"]),
            ('ink -"galls oak"', ["ink", "paper"]),
            ('ink nowhere -"oak galls"', ["paper"]),
            ("ink author:ann", ["ink", "paper"]),
            ("ink author:someone", []),
            ("in:news grain", ["paper"]),
            ("in:elsewhere grain", []),
            ("news grain", ["paper"]),
            ("the ink and a galls", ["ink"]),
        ],
    )
    def test_query_finds_pages(self, client, query, slugs):
        assert self.found(client, query) == slugs

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        "written", ["shopkeeper's", "shopkeeper’s", "shopkeeperʼs", "shop\u00adkeeper's", "shop\u200bkeeper’s"]
    )
    @pytest.mark.parametrize("where", ["title", "detail.text", "summary", "detail.alt"])
    def test_apostrophes_and_invisible_characters_are_ignored(self, client, blog, written, where):
        if where == "detail.alt":
            photo_build.upload(photo_build.gallery(), name="found.jpg", fields={"detail.alt": f"The {written} door"})
        elif where == "detail.text":
            post(blog, "found", 2021, 1, 1, text=f"The {written} door")
        else:
            post(blog, "found", 2021, 1, 1, **{where: f"The {written} door"})
        for query in (
            "shopkeeper's",
            "shopkeeper’s",
            "SHOPKEEPERʼS",
            "shop\u00adkeeper's",
            "shopkeeper\u200b's",
            "door shopkeeper's",
        ):
            assert self.found(client, query) == ["found"], query

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        "query",
        [
            '"well-known fact"',
            '"known fact"',
            '"email address"',
            '"e-mail address"',
            '"it\'s raining"',
            '"raining at Jose"',
        ],
    )
    def test_phrases_with_hyphens_apostrophes_and_accents_are_found(self, client, blog, query):
        post(blog, "found", 2021, 1, 1, text="A well-known fact: an e-mail address. It’s raining – at José’s.")
        assert self.found(client, query) == ["found"]

    def test_contractions_are_found_in_either_spelling(self, client, blog):
        post(blog, "straight", 2021, 1, 1, text="It couldn't be.")
        post(blog, "curly", 2021, 1, 2, text="It couldn’t be.")
        for query in ("couldn't", "couldn’t"):
            assert set(self.found(client, query)) == {"straight", "curly"}
            page = client.get("/search", {"q": query}).content.decode()
            assert ("<mark>couldn&#x27;t</mark>" in page, "<mark>couldn’t</mark>" in page) == (True, True)

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        ("written", "query"),
        [("می\u200cخواهم", "میخواهم"), ("میخواهم", "می\u200cخواهم"), ("紅\u200b樓夢", "紅樓夢"), ("l'arbre", "arbre")],
    )
    def test_joiners_and_breaks_are_ignored(self, client, blog, written, query):
        post(blog, "found", 2021, 1, 1, text=f"A {written} b")
        assert self.found(client, query) == ["found"]

    def test_tag_is_found_with_another_apostrophe(self, client, blog):
        page = post(blog, "found", 2021, 1, 1)
        editing.change_tags(page, TagChange(added=frozenset({"shopkeeper's"})))
        assert self.found(client, "shopkeeper’s") == ["found"]

    def test_extracts_mark_the_words(self, client):
        page = client.get("/search", {"q": "amélia"}).content.decode()
        assert "<mark>Amélia</mark>" in page
        assert 'value="amélia"' in page

    def test_several_words_without_results_suggest_fewer(self, client):
        one, two = (client.get("/search", {"q": query}).content.decode() for query in ("nowhere", "nowhere else"))
        assert all("No results for" in page for page in (one, two))
        assert ["fewer words" in page for page in (one, two)] == [False, True]

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        "query",
        [
            "",
            " ",
            '"',
            "-",
            '"""" -',
            "$where",
            "{$ne: 1}",
            "\x00",
            "a" * 5_000,
            "a " * 500,
            "<script>alert(1)</script>",
            "\\",
            ".*",
            "ℝ𝕖 🙂",
            "\u202e",
            "'",
            "the",
            "红" * 300,
            "tag:,",
            "author:- in:--",
            "-ink",
            "\u2067ink חבר حبر",
        ],
    )
    def test_hostile_words_are_searched_as_text(self, client, query):
        page = client.get("/search", {"q": query})
        assert page.status_code == 200
        assert "<script>" not in page.content.decode()
        assert client.get("/search/suggestions", {"q": query}).status_code == 200

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(st.text(max_size=40))
    def test_any_query_gets_a_response(self, client, query):
        for path in ("/search", "/search/suggestions"):
            assert client.get(path, {"q": query}).status_code == 200

    def test_titles_and_tags_are_suggested(self, client):
        answer = client.get("/search/suggestions", {"q": "cra"})
        assert answer.json() == {"suggestions": [{"kind": "Tag", "text": "craft", "url": "/tag/craft"}]}
        assert sorted(answer["Cache-Control"].split(", ")) == ["max-age=60", "private"]
        suggested = client.get("/search/suggestions", {"q": "ink"}).json()["suggestions"]
        assert suggested == [{"kind": "", "text": "Ink from oak galls", "url": "/news/ink"}]
        assert client.get("/search/suggestions").json() == {"suggestions": []}
        assert client.post("/search/suggestions", {"q": "in"}).status_code == 405

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("page", ["0", "-1", "x", "11", "99999999999", "²"])
    def test_invalid_page_returns_404(self, client, page):
        assert client.get("/search", {"q": "ink", "page": page}).status_code == 404

    def test_results_are_paged(self, client, blog):
        for number in range(23):
            post(blog, f"p{number}", 2020, 1, 1 + number, title=f"Umbrella {number}")
        slugs = [self.found(client, "umbrella")]
        for page in (2, 3):
            answer = client.get("/search", {"q": "umbrella", "page": page})
            slugs.append([hit.node.metadata.slug for hit in answer.context["results"].hits])
        assert [len(page) for page in slugs] == [10, 10, 3]
        assert len({slug for page in slugs for slug in page}) == 23
        assert answer.context["more"] is None
        beyond = client.get("/search", {"q": "umbrella", "page": "4"})
        assert (beyond.status_code, beyond["Location"]) == (302, "/search?q=umbrella")

    def test_slow_search_returns_503_with_advice(self, client, monkeypatch):
        monkeypatch.setattr(search, "search", partial(search.search, milliseconds=0.001))
        answer = client.get("/search", {"q": "ink"})
        assert answer.status_code == 503
        assert "Try different or fewer words." in answer.content.decode()

    def test_photos_are_found_if_readers_can_see_them(self, client):
        shown, hidden = photo_build.gallery("shown"), photo_build.gallery("secret", published=None)
        seen = photo_build.upload(shown, title="An inkwell", tags=("desk",), fields={"detail.alt": "Brass and glass"})
        photo_build.upload(hidden, title="Inkwell, hidden", fields={"detail.alt": "Brass and glass"})
        photo_build.upload(
            shown, title="Inkwell, unpublished", fields={"detail.alt": "Brass and glass", "published": None}
        )
        for query in ("inkwell", "brass glass", "desk"):
            answer = client.get("/search", {"q": query})
            assert [hit.node.pk for hit in answer.context["results"].hits] == [seen], query
        assert f"/media/{seen}/" in answer.content.decode()
        assert self.found(client, "brass") == [client.get("/shown/an-inkwell").context["node"].metadata.slug]

    def test_search_for_common_words_reads_few_pages(self, client, blog, commands, monkeypatch):
        """Finding all pages with two common words would read every page with one of them."""
        monkeypatch.setattr(index, "LOOKED_THROUGH", 4)
        monkeypatch.setattr(index, "COUNTED", 4)
        for number in range(8):
            post(blog, f"p{number}", 2020, 1, 1 + number, title="Walks", text="Under an umbrella, through the rain.")
        post(blog, "rare", 2019, 1, 1, title="Animals", text="A zébra in the rain, in the rain, and in the snow.")
        post(blog, "both", 2018, 1, 1, title="Rain and umbrella", text="Nothing.")
        with commands.recorded():
            results = client.get("/search", {"q": "umbrella rain"}).context["results"]
        asked = [event.command["pipeline"] for event in commands.sent if event.command.get("pipeline")]
        asked = [pipeline for pipeline in asked if "$project" in pipeline[-1]]
        assert asked
        assert all(pipeline[1] == {"$limit": 4} for pipeline in asked)
        assert results.hits[0].node.metadata.slug == "both"
        assert results.is_cut_short
        results = client.get("/search", {"q": "rain zebra"}).context["results"]
        assert ([hit.node.metadata.slug for hit in results.hits], results.is_cut_short) == (["rare"], False)

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("query", ["umbrella tag:leather", "umbrella in:essays", "umbrella author:jun"])
    def test_rare_tag_section_or_author_is_found_among_pages_with_a_common_word(self, client, blog, monkeypatch, query):
        monkeypatch.setattr(index, "LOOKED_THROUGH", 4)
        for number in range(8):
            post(blog, f"p{number}", 2020, 1, 1 + number, title="Umbrellas")
        essays = node("blog", "essays")
        post(essays, "rare", 2019, 1, 1, text="An umbrella", tags=("leather",), author={"_id": None, "name": "Jun"})
        results = client.get("/search", {"q": query}).context["results"]
        assert ([hit.node.metadata.slug for hit in results.hits], results.is_cut_short) == (["rare"], False)

    def test_hidden_pages_and_sections_do_not_change_results(self, client, blog):
        """Otherwise, readers could find out which words hidden pages contain."""
        post(blog, "acmeist", 2021, 1, 1, title="An acmeist")
        queries = {"acme": ["acmeist"], "acmeis": ["acmeist"], "marginz": ["ink"]}
        assert {query: self.found(client, query) for query in queries} == queries
        node("blog-entry", "acme", parent=blog, title="Acme", text="Acmeis marginz", published=None)
        node("blog", "acmeis", title="Acmeis marginz", published=None)
        assert {query: self.found(client, query) for query in queries} == queries

    def test_words_close_to_each_other_rank_higher(self, client, blog):
        filler = "Nothing happened for a long time on that day. " * 20
        post(blog, "far", 2020, 1, 2, title="One", text=f"A kettle. {filler} A whistle.")
        post(blog, "near", 2020, 1, 1, title="Two", text=f"{filler} The kettle has a whistle. {filler}")
        assert self.found(client, "kettle whistle") == ["near", "far"]

    def test_misspelled_words_are_corrected_only_to_words_of_public_pages(self, client, blog):
        node("blog-entry", "hidden", parent=blog, title="Zeppelin", published=None)
        assert self.found(client, "zepelin") == []
        page = client.get("/search", {"q": "amelja"}).content.decode()
        assert "No results for “<bdi>amelja</bdi>”" in page
        assert '<a href="?q=amelia" dir="auto">amelia</a>' in page
        assert "/news/ink" in page

    def test_more_common_spelling_is_suggested(self, client, blog):
        for number in range(12):
            post(blog, f"p{number}", 2020, 1, 1 + number, title=f"Accommodation {number}")
        post(blog, "wrong", 2020, 2, 1, title="Other", text="An acommodation")
        answer = client.get("/search", {"q": "acommodation"})
        assert [hit.node.metadata.slug for hit in answer.context["results"].hits] == ["wrong"]
        assert 'Did you mean “<a href="?q=accommodation" dir="auto">accommodation</a>”?' in answer.content.decode()

    def test_results_are_filtered_by_type_section_and_year(self, client, blog):
        essays = node("blog", "essays", title="Essays")
        for number in range(3):
            post(essays, f"e{number}", 2019 + number, 1, 1, title=f"Lantern {number}")
        post(blog, "n", 2021, 5, 1, title="Lantern")
        node("basic-page", "lanterns", title="Lanterns")
        page = client.get("/search", {"q": "lantern"})
        shown = {
            group.label: [(str(c.label), c.count) for c in group.choices] for group in page.context["facets"]["groups"]
        }
        assert shown == {
            "Type": [("Blog post", 4), ("Page", 1)],
            "Section": [("Essays", 3), ("News", 1)],
            "Year": [("2021", 2), ("2020", 1), ("2019", 1)],
        }
        for parameters, slugs in (
            ({"type": "basic-page"}, {"lanterns"}),
            ({"section": "essays"}, {"e0", "e1", "e2"}),
            ({"section": "essays", "year": "2021"}, {"e2"}),
            ({"year": "2020", "type": "blog-entry"}, {"e1"}),
            ({"year": "x", "type": "no-type", "section": "none"}, {"e0", "e1", "e2", "n", "lanterns"}),
        ):
            answer = client.get("/search", {"q": "lantern", **parameters})
            assert {hit.node.metadata.slug for hit in answer.context["results"].hits} == slugs, parameters
        chosen = client.get("/search", {"q": "lantern", "section": "essays", "year": "2021"}).content.decode()
        assert 'href="?q=lantern&amp;section=essays" aria-current="true"' in chosen

    def test_changed_text_is_found_by_its_new_words(self, client, blog):
        page = node(slug="page", text="Before")
        editing.save(EDITOR, page, nonce(page), {"detail.text": "Afterwards 书法"})
        assert self.found(client, "before") == []
        assert self.found(client, "afterwards") == self.found(client, "书法") == ["page"]


class TestSitemap:
    def locations(self, client, address: str) -> list[str]:
        answer = client.get(address)
        assert answer["Content-Type"] == "application/xml; charset=utf-8"
        return [loc.text for loc in ElementTree.fromstring(answer.content).iter(f"{SPACE}loc")]

    def test_sitemap_lists_every_live_url_once(self, client, blog):
        post(blog, "红楼梦", 2021, 1, 1)
        post(blog, "b", 2021, 1, 2)
        node(slug="page", tags=["ink"])
        node(slug="draft", published=None)
        hidden = node("folder", "hidden", published=None)
        node(slug="inside", parent=hidden)
        photo_build.upload(photo_build.gallery(), name="lake.jpg")
        pages = self.locations(client, "/sitemap.xml")
        found = [loc for page in pages for loc in self.locations(client, page.removeprefix("http://testserver"))]
        assert sorted(found) == sorted(
            f"http://testserver{path}"
            for path in (
                "/",
                "/news",
                "/news/%E7%BA%A2%E6%A5%BC%E6%A2%A6",
                "/news/b",
                "/page",
                "/gallery",
                "/gallery/lake",
                "/author/ann",
                "/tag",
            )
        )
        for address in found:
            assert client.get(address.removeprefix("http://testserver")).status_code == 200, address

    def test_sitemap_is_split_into_stable_pages(self, client, blog, monkeypatch):
        monkeypatch.setattr(sitemap, "PAGE_SIZE", 2)
        same = datetime(2021, 1, 1, tzinfo=UTC)
        for number in range(5):
            node("blog-entry", f"p{number}", parent=blog, published=same)
        pages = [page for page in self.locations(client, "/sitemap.xml") if "entry" in page]
        assert len(pages) == 3
        before = [self.locations(client, page.removeprefix("http://testserver")) for page in pages]
        assert [len(page) for page in before] == [2, 2, 1]
        assert len({loc for page in before for loc in page}) == 5
        post(blog, "newest", 2022, 1, 1)
        after = [self.locations(client, page.removeprefix("http://testserver")) for page in pages]
        assert after[:2] == before[:2]
        assert client.get("/sitemap-blog-entry-4.xml").status_code == 404

    def test_sitemap_is_valid_by_its_schema(self, client, blog):
        schema = etree.XMLSchema(file=Path(__file__).with_name("sitemap.xsd"))
        post(blog, "straße-关于", 2021, 1, 1)
        for address, root in (
            ("/sitemap.xml", "sitemapindex"),
            ("/sitemap-sections-1.xml", "urlset"),
            ("/sitemap-blog-entry-1.xml", "urlset"),
        ):
            document = etree.fromstring(client.get(address).content)
            assert document.tag == SPACE + root
            schema.assertValid(document)
            assert all(loc.text.startswith("http://testserver/") for loc in document.iter(f"{SPACE}loc"))

    def test_section_has_the_last_change_of_its_contents(self, client, blog, mongo):
        long_ago, later = datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)

        def changed() -> dict[str, str]:
            urls = ElementTree.fromstring(client.get("/sitemap-sections-1.xml").content)
            return {url[0].text.removeprefix("http://testserver"): url[1].text for url in urls if len(url) > 1}

        gallery = photo_build.gallery()
        mongo["cms.nodes"].update_many({}, {"$set": {"metadata.updated": long_ago}})
        post(blog, "seen", 2022, 1, 1)
        post(blog, "ahead", 2900, 1, 1)
        node("blog-entry", "draft", parent=blog, published=None)
        newest = dict.fromkeys(("/", "/news", "/author/ann"), later.isoformat())
        assert changed() == newest | {"/gallery": long_ago.isoformat()}
        photo_build.upload(gallery, fields={"published": later})
        assert changed()["/gallery"] == later.isoformat()
        editing.save(EDITOR, blog, nonce(blog), {"summary": "New words."})
        assert changed()["/news"] > later.isoformat()
        home = node(slug="home", text="Welcome")
        front = mongo["cms.nodes"].find_one({"_id": home})["metadata"]["updated"]
        assert changed()["/"] == front.isoformat(timespec="seconds")

    @pytest.mark.parametrize("name", ["photo-9", "sections-2", "sections-0", "blog-entry-9", "x-1"])
    def test_other_sitemap_pages_return_404(self, client, mongo, name):
        assert client.get(f"/sitemap-{name}.xml").status_code == 404

    def test_robots_txt_links_the_sitemap(self, client, mongo):
        text = client.get("/robots.txt").content.decode()
        assert "Sitemap: http://testserver/sitemap.xml" in text.splitlines()
        assert "Disallow: /admin/" in text

    def test_search_engines_index_the_search_page_but_no_results(self, client, mongo):
        noindex = '<meta name="robots" content="noindex">'
        assert noindex not in client.get("/search").content.decode()
        assert noindex in client.get("/search", {"q": "ink"}).content.decode()
        lines = client.get("/robots.txt").content.decode().splitlines()
        assert "Disallow: /search?" in lines
        assert "Disallow: /search" not in lines


class TestNotFound:
    @staticmethod
    def suggested(client, path: str) -> list[str]:
        """Return the URLs that the page for a missing URL suggests, or []."""
        answer = client.get(path)
        assert answer.status_code == 404
        urls = [node.get_absolute_url() for node in answer.context["listing"].nodes]
        assert all(f'href="{url}"' in answer.content.decode() for url in urls)
        return urls

    def test_missing_page_suggests_similar_titles(self, client, blog):
        post(blog, "wide", 2021, 1, 1, title="The wide margin")
        assert self.suggested(client, "/old/wide-margin") == ["/news/wide"]
        assert self.suggested(client, "/2021/01/wide-margin.html") == ["/news/wide"]

    def test_best_matching_public_pages_are_suggested_first(self, client, blog):
        post(blog, "paper", 2021, 1, 1, title="Margin")
        post(blog, "both", 2021, 1, 1, title="Marks in a wide margin")
        node("blog-entry", "draft", parent=blog, title="Wide margin", published=None)
        node("blog-entry", "there", parent=node("blog", "hidden", published=None), title="Wide margin")
        assert self.suggested(client, "/old/Wide_margin%20") == ["/news/both", "/news/paper"]
        page = client.get("/old/Wide_margin%20").content.decode()
        assert 'value="Wide margin"' in page
        assert '<html lang="en"' in page

    def test_common_words_are_not_searched_next_to_others(self, client, blog):
        for number in range(60):
            post(blog, f"p{number}", 2021, 1, 1, title=f"The day {number}")
        post(blog, "z", 2021, 1, 1, title="Margins")
        assert self.suggested(client, "/old/the-page-about-margins") == ["/news/z"]
        assert len(self.suggested(client, "/old/the")) == 5

    @pytest.mark.parametrize(
        "path", ["/news/helo-wrold", "/news/hello-wor", "/news/hello-world-2", "/mews/hello-world", "/News/Hello-Wrld"]
    )
    def test_similar_urls_are_suggested(self, client, blog, path):
        post(blog, "hello-world", 2021, 1, 1, title="A title with other words")
        node("blog-entry", "hello-worl", parent=blog, published=None)
        assert self.suggested(client, path) == ["/news/hello-world"]

    def test_similar_urls_of_photos_and_sections_are_suggested(self, client, blog):
        gallery = photo_build.gallery("lakes")
        photo_build.upload(gallery, title="Walchensee")
        assert self.suggested(client, "/lakes/walchense") == ["/lakes/walchensee"]
        assert self.suggested(client, "/lake") == ["/lakes"]

    @pytest.mark.slow
    def test_similar_urls_are_found_in_large_sections(self, client, blog):
        for number in range(200):
            node("blog-entry", f"hello-{number:03}", parent=blog, title="Words")
        assert self.suggested(client, "/news/hello-104x")[0] == "/news/hello-104"

    def test_misspelled_words_are_corrected(self, client, blog):
        post(blog, "wide", 2021, 1, 1, title="The wide margin")
        node("blog-entry", "draft", parent=blog, title="Secret margrave", published=None)
        assert self.suggested(client, "/old/the-magrin") == ["/news/wide"]
        assert self.suggested(client, "/old/margraves") == []

    @pytest.mark.parametrize(
        "last", ["wp-login.php", "mary@example.org", "token=margin", "x%2540margin", "3f2a9margin77"]
    )
    def test_file_names_emails_and_keys_are_not_searched(self, client, blog, commands, last):
        post(blog, "margin", 2021, 1, 1, title="Margin php mary example org token")
        client.get("/warm-up.x")
        with commands.recorded():
            answer = client.get(f"/{last}")
        assert (answer.status_code, answer.context["words"], list(answer.context["listing"].nodes)) == (404, "", [])
        assert not [e for e in commands.sent if "derived.title_words" in e.command.get("filter", {})]

    def test_wrong_urls_cost_few_small_queries(self, client, blog, commands):
        post(blog, "margin", 2021, 1, 1, title="Margin")
        client.get("/news/warm-up")
        with commands.recorded():
            assert self.suggested(client, "/news/xylophones-and-zebras-and-quartz") == []
        queries = [
            e.command
            for e in commands.sent
            if e.command.get("find") in (NODES, WORDS) and e.command.get("limit", 0) > 1
        ]
        assert [(sent["find"], sent["limit"]) for sent in queries] == [
            (NODES, 20),
            (NODES, 20),
            (NODES, 50),
            (WORDS, 2_000),
            (WORDS, 2_000),
        ]
        assert all(sent["maxTimeMS"] <= 200 and sent["hint"] for sent in queries)
        assert not [e for e in commands.sent if "derived.terms" in str(e.command)]
