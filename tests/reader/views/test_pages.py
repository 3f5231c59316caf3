"""Public pages: what readers see at a URL, and the response for other URLs."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from nodes.selectors.stored_nodes import MOST_LOOKS
from nodes.services import editing, trash
from nodes.services.site import save_settings
from tests.support.commands import CommandLog

FUTURE = datetime(2900, 1, 1, tzinfo=UTC)


@pytest.fixture
def blog(mongo) -> ObjectId:
    return node("blog", "news", title="News")


def test_home_lists_the_newest_posts_of_all_blogs(client, blog):
    other = node("blog", "journal")
    node("blog-entry", "old", parent=blog, title="Older one", published=datetime(2021, 1, 1, tzinfo=UTC))
    node("blog-entry", "new", parent=other, title="Newer one", published=datetime(2022, 1, 1, tzinfo=UTC))
    page = client.get("/").content.decode()
    assert page.index("Newer one") < page.index("Older one")
    assert 'href="/news/old"' in page


def test_home_shows_the_page_with_that_slug(client, blog):
    node("blog-entry", "post", parent=blog, title="A post")
    node(slug="home", title="Welcome", text="Come *in*.")
    page = client.get("/").content.decode()
    assert "<em>in</em>" in page
    assert "A post" not in page
    answer = client.get("/home")
    assert answer.status_code == 301
    assert answer["Location"] == "/"


def test_section_with_the_slug_home_has_its_own_url(client, mongo):
    """If it were the front page, URLs below it would start with two slashes, like the name of a host."""
    blog = node("blog", "home", title="Home")
    node("blog-entry", "post", parent=blog, title="A post")
    page = client.get("/home").content.decode()
    assert 'href="//' not in page
    for below in ("archive", "feed/atom"):
        assert f'href="/home/{below}"' in page
        assert client.get(f"/home/{below}").status_code == 200
    assert [entry.metadata.slug for entry in client.get("/").context["listing"].nodes] == ["post"]


@pytest.mark.parametrize(
    ("title", "slug", "address"),
    [
        ("红楼梦", "红楼梦", "/%E7%BA%A2%E6%A5%BC%E6%A2%A6"),
        ("हिन्दी", "हिन्दी", "/%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80"),
        ("Über uns", "über-uns", "/%C3%BCber-uns"),
        ("عربي", "عربي", "/%D8%B9%D8%B1%D8%A8%D9%8A"),
    ],
)
def test_titles_and_slugs_can_be_in_any_script(client, mongo, title, slug, address):
    node(slug=slug, title=title, text="Text")
    assert f">{title}</h1>" in client.get(address).content.decode()
    assert client.get(f"{address}/")["Location"] == address


def test_section_index_lists_its_live_sections_and_pages(client, mongo):
    folder = node("folder", "guide", title="Guide", text="How it *works*.")
    node("folder", "deep", parent=folder, title="Deeper")
    node("folder", "hidden", parent=folder, title="Hidden section", published=None)
    node(slug="start", parent=folder, title="Start here", text="The first step is the hardest.")
    node(slug="draft", parent=folder, title="Not yet", published=None)
    page = client.get("/guide").content.decode()
    assert "<em>works</em>" in page
    # In the order of the documentation theme's sidebar.
    assert 0 < page.index('href="/guide/start"') < page.rindex('href="/guide/deep"')
    assert "The first step is the hardest." in page
    assert "Hidden section" not in page
    assert "Not yet" not in page


def test_long_section_is_paged(client, mongo, monkeypatch):
    monkeypatch.setattr("nodes.selectors.stored_nodes.PAGES_LISTED", 2)
    folder = node("folder", "guide")
    for slug in ("a", "b", "c"):
        node(slug=slug, parent=folder)
    first = client.get("/guide").content.decode()
    assert 'href="/guide/b"' in first
    assert 'href="/guide/c"' not in first
    assert 'href="?from=b"' in first
    second = client.get("/guide?from=b").content.decode()
    assert 'href="/guide/c"' in second
    assert 'href="/guide/b"' not in second
    assert "?from=" not in second.partition("<main")[2]


def test_blog_index_is_paged_both_ways(client, blog):
    for day in range(1, 26):
        published = datetime(2022, 1, day, tzinfo=UTC)
        node("blog-entry", f"d{day}", parent=blog, title=f"Day {day}.", published=published)
    seen, address = [], "/news"
    while address:
        listing = client.get(address).context["listing"]
        seen.append([entry.metadata.title for entry in listing.nodes])
        address = f"/news?from={listing.older}" if listing.older else None
    assert [title for page in seen for title in page] == [f"Day {day}." for day in range(25, 0, -1)]
    assert [len(page) for page in seen] == [10, 10, 5]
    back = client.get(f"/news?from={listing.newer}").context["listing"]
    assert [entry.metadata.title for entry in back.nodes] == seen[1]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "<",
        "<1",
        "<1.x",
        "<1.507f1f77bcf86cd799439011",
        ">99999999999999.507f1f77bcf86cd799439011x",
        "<-1.a",
        "<².",
    ],
)
def test_invalid_cursor_returns_404(client, blog, cursor):
    node("blog-entry", "post", parent=blog)
    assert client.get("/news", {"from": cursor}).status_code == 404
    assert client.get("/news", {"from": ""}).status_code == 200


def test_post_shows_its_text_tags_and_neighbours(client, blog):
    for number, title in enumerate(("First", "Second", "Third"), 1):
        published = datetime(2022, 1, number, tzinfo=UTC)
        node("blog-entry", title.lower(), parent=blog, title=title, published=published, tags=("R&D", "TCP/IP"))
    answer = client.get("/news/second")
    page = answer.content.decode()
    assert (answer.context["older"].metadata.title, answer.context["newer"].metadata.title) == ("First", "Third")
    # The same words and sides as in lists: newer posts come first.
    assert '<a rel="prev" href="/news/third"><span>Newer</span> <bdi>Third</bdi></a>' in page
    assert '<a rel="next" href="/news/first"><span>Older</span> <bdi>First</bdi></a>' in page
    assert 'href="/tag/R&amp;D"' in page
    assert 'href="/tag/TCP/IP"' in page
    assert '<a href="/news">News</a>' in page.partition("<main")[2]
    assert 'property="og:type" content="article"' in page
    assert '<link rel="canonical" href="http://testserver/news/second">' in page
    shared = client.get("/news/second?from=timeline").content.decode()
    assert '<link rel="canonical" href="http://testserver/news/second">' in shared


@pytest.mark.parametrize(("summary", "description"), [("", "It begins so."), ("A summary", "A summary")])
def test_description_is_the_summary_or_an_excerpt(client, blog, summary, description):
    node("blog-entry", "post", parent=blog, text="It *begins* so.", summary=summary)
    node(slug="page", text="It *begins* so.", summary=summary)
    node("folder", "folder", text="It *begins* so.", summary=summary)
    for address in ("/news/post", "/page", "/folder"):
        page = client.get(address).content.decode()
        assert f'<meta name="description" content="{description}">' in page, address
        assert f'<meta property="og:description" content="{description}">' in page, address


def test_typed_text_is_escaped(client, blog):
    evil = '"><script>alert(1)</script>'
    node("blog-entry", "post", parent=blog, title=evil, text=evil, tags=(evil,), summary=evil)
    for address in ("/", "/news", "/news/post"):
        assert "<script>" not in client.get(address).content.decode()


@pytest.mark.parametrize(
    ("published", "expires"),
    [(None, None), (FUTURE, None), (datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC))],
)
def test_hidden_posts_are_shown_nowhere(client, blog, published, expires):
    more = {"expires": expires} if expires else {}
    node("blog-entry", "hidden", parent=blog, title="Unseen", published=published, tags=("t",), **more)
    node("blog-entry", "shown", parent=blog, title="Seen", tags=("t",))
    assert client.get("/news/hidden").status_code == 404
    for address in ("/", "/news", "/tag/t", "/news/shown"):
        page = client.get(address).content.decode()
        assert "Seen" in page
        assert "Unseen" not in page


@pytest.mark.parametrize("hide", ["draft", "trash"])
def test_contents_of_a_hidden_section_are_shown_nowhere(client, mongo, hide):
    folder = node("folder", "folder")
    inner = node("blog", "inner", parent=folder)
    node("blog-entry", "post", parent=inner, title="Inside", tags=("t",))
    assert client.get("/folder/inner/post").status_code == 200
    if hide == "draft":
        editing.save(EDITOR, folder, nonce(folder), {"published": None})
    else:
        trash.trash(EDITOR, folder, nonce(folder))
    for address in ("/folder", "/folder/inner", "/folder/inner/post", "/tag/t", "/folder/inner/feed/rss"):
        assert client.get(address).status_code == 404, address
    assert "Inside" not in client.get("/").content.decode()


def test_tag_page_lists_pages_and_posts(client, blog):
    node("blog-entry", "post", parent=blog, title="A post", tags=("文学",))
    node(slug="page", title="A page", tags=("文学",))
    page = client.get("/tag/%E6%96%87%E5%AD%A6").content.decode()
    assert "A post" in page
    assert "A page" in page
    assert client.get("/tag/none").status_code == 404


class TestAddresses:
    """Each page has one URL. Every other spelling redirects once."""

    @pytest.mark.parametrize("spelling", ["/news/post/", "/News/Post", "/NEWS/post/", "/news/post/?x=1"])
    def test_other_spellings_are_redirected(self, client, blog, spelling):
        node("blog-entry", "post", parent=blog)
        answer = client.get(spelling)
        assert answer.status_code == 301
        assert answer["Location"] == "/news/post" + ("?x=1" if "?" in spelling else "")
        assert answer["Cache-Control"] == "no-cache", "a page may come to stand there"

    def test_decomposed_spelling_is_redirected(self, client, mongo):
        node(slug="über")
        assert client.get("/u%CC%88ber")["Location"] == "/%C3%BCber"

    def test_moved_section_redirects_its_pages_at_once(self, client, mongo):
        old, new = node("folder", "old"), node("folder", "new")
        blog = node("blog", "blog", parent=old)
        post = node("blog-entry", "post", parent=blog)
        editing.save(EDITOR, blog, nonce(blog), {"parent_id": new})
        editing.save(EDITOR, post, nonce(post), {"slug": "renamed"})
        editing.save(EDITOR, new, nonce(new), {"slug": "newest"})
        for asked in ("/old/blog/post", "/old/blog/post/", "/new/blog/post", "/newest/blog/post", "/OLD/blog/post"):
            answer = client.get(asked)
            assert answer.status_code == 301, asked
            assert answer["Location"] == "/newest/blog/renamed", asked
        assert client.get("/newest/blog/renamed").status_code == 200

    def test_draft_at_an_old_url_does_not_hide_the_redirect(self, client, mongo):
        page = node(slug="old")
        editing.save(EDITOR, page, nonce(page), {"slug": "new"})
        node(slug="old", published=None)
        assert client.get("/old")["Location"] == "/new"

    def rename(self, section: ObjectId, slug: str) -> None:
        editing.save(EDITOR, section, nonce(section), {"slug": slug})

    def test_page_below_a_renamed_section_is_found_past_a_new_one(self, client, mongo):
        blog = node("blog", "a")
        for slug in ("p", "both"):
            node("blog-entry", slug, parent=blog)
        self.rename(blog, "b")
        node("blog-entry", "both", parent=node("blog", "a"), title="Successor")
        answer = client.get("/a/p")
        assert (answer.status_code, answer["Location"]) == (301, "/b/p")
        assert "Successor" in client.get("/a/both").content.decode()
        assert client.get("/a/none").status_code == 404

    def test_page_three_levels_deep_is_redirected_past_new_ones(self, client, mongo):
        top, sections = node("folder", "a"), []
        for slug in ("a", "a"):
            sections.append(node("folder", slug, parent=sections[-1] if sections else top))
        node(slug="p", parent=sections[-1])
        for section in (top, *sections):
            self.rename(section, "b")
            self.rename(section, "c")
        parent = None
        for _ in range(3):
            parent = node("folder", "a", parent=parent)
        for path in ("/a/a/a/p", "/b/b/b/p", "/c/a/b/p"):
            answer = client.get(path)
            assert (answer.status_code, answer["Location"]) == (301, "/c/c/c/p"), path

    def test_pages_of_all_sections_once_at_a_url_are_found(self, client, mongo):
        for number in range(4):
            section = node("blog", "a")
            node("blog-entry", f"p{number}", parent=section)
            node("blog-entry", "all", parent=section)
            self.rename(section, f"b{number}")
        assert client.get("/a")["Location"] == "/b3"
        for number in range(4):
            assert client.get(f"/a/p{number}")["Location"] == f"/b{number}/p{number}"
        assert client.get("/a/all")["Location"] == "/b3/all"
        trash.trash(EDITOR, page := mongo["cms.nodes"].find_one({"metadata.slug": "b3"})["_id"], nonce(page))
        assert client.get("/a/p2")["Location"] == "/b2/p2"

    def test_page_moved_out_of_a_renamed_section_is_redirected(self, client, mongo):
        blog = node("blog", "a")
        post, other = node("blog-entry", "p", parent=blog), node("blog", "other")
        editing.save(EDITOR, post, nonce(post), {"parent_id": other})
        self.rename(blog, "b")
        node("blog", "a")
        assert client.get("/a/p")["Location"] == client.get("/b/p")["Location"] == "/other/p"

    def test_url_through_many_renamed_sections_costs_few_reads(self, client, mongo):
        section = node("folder", "a")
        self.rename(section, "b")
        mongo["cms.redirects"].insert_one({"_id": {"parent_id": section, "slug": "a"}, "node_id": section})
        with CommandLog().recorded() as log:
            assert client.get("/" + "a/" * 900 + "p").status_code == 404
        assert len([event for event in log.sent if event.command.get("find") == "cms.redirects"]) == MOST_LOOKS

    def test_new_page_at_an_old_url_is_shown(self, client, mongo):
        page = node(slug="old")
        editing.save(EDITOR, page, nonce(page), {"slug": "new"})
        node(slug="old", title="Successor")
        assert "Successor" in client.get("/old").content.decode()

    def test_redirect_to_a_trashed_page_returns_404(self, client, mongo):
        page = node(slug="old")
        editing.save(EDITOR, page, nonce(page), {"slug": "new"})
        trash.trash(EDITOR, page, nonce(page))
        assert client.get("/old").status_code == 404

    @pytest.mark.parametrize(
        "path",
        [
            "/none",
            "/none/",
            "/news/none",
            "/news/post/below",
            "/\\evil.example/",
            "/a//b",
            "/%00",
            "/x.php",
            "/news/post/feed/rss",
            "/news/feed/other",
            "/%ff%fe",
            "/" + "a/" * 500,
            "/" + "a" * 5000,
        ],
    )
    def test_missing_page_returns_404_in_the_theme(self, client, blog, path):
        node("blog-entry", "post", parent=blog)
        answer = client.get(path)
        assert answer.status_code == 404
        assert "Page not found" in answer.content.decode()

    def test_no_redirect_leaves_the_site(self, client, mongo):
        for path in ("//evil.example/", "///evil.example/", "/\\evil.example/"):
            assert client.get("/", PATH_INFO=path).status_code == 404

    @settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(st.lists(st.text(max_size=8), max_size=4), st.booleans())
    def test_any_path_gets_a_response(self, client, blog, parts, slash):
        path = "/" + "/".join(parts) + ("/" if slash else "")
        assert client.get("/", PATH_INFO=path.encode().decode("latin-1")).status_code in (200, 301, 404)

    @pytest.mark.parametrize("method", ["post", "put", "delete"])
    def test_pages_accept_only_reads(self, client, blog, method):
        assert getattr(client, method)("/news").status_code == 405
        assert client.head("/news").status_code == 200


class TestPersonalPages:
    """A page for an anonymous reader is the same for all of them."""

    def test_anonymous_pages_contain_nothing_personal(self, client, blog):
        node("blog-entry", "post", parent=blog)
        for address in ("/", "/news", "/news/post", "/tag/x", "/none"):
            answer = client.get(address)
            assert not answer.cookies, address
            assert "Cookie" not in answer.get("Vary", ""), address
            assert ">Edit<" not in answer.content.decode(), address
            assert "csrf" not in answer.content.decode(), address

    def test_personal_page_is_private(self, client: Client, blog):
        client.force_login(User.objects.create_superuser("ed", password="x"))
        answer = client.get("/news")
        assert "private" in answer["Cache-Control"]
        assert "Cookie" in answer["Vary"]

    def test_reader_without_permission_sees_no_edit_link(self, client: Client, blog):
        client.force_login(User.objects.create_user("reader", password="x"))
        assert ">Edit<" not in client.get("/news").content.decode()


def test_scheduled_post_appears_at_its_time(client, blog):
    soon = now() + timedelta(milliseconds=300)
    node("blog-entry", "soon", parent=blog, published=soon)
    assert client.get("/news/soon").status_code == 404
    while now() < soon:
        pass
    assert client.get("/news/soon").status_code == 200


def test_menu_marks_the_current_section(client, blog):
    other = node("folder", "about", title="About")
    node("folder", "team", parent=other, title="Team")
    node(slug="imprint", title="Imprint")
    page = client.get("/about/team").content.decode()
    assert '<a href="/about" aria-current="true">About</a>' in page
    assert '<a href="/about/team" aria-current="page">Team</a>' in page
    assert '<a href="/news">News</a>' in page
    assert '<a href="/imprint">Imprint</a>' in page


def test_breadcrumbs_appear_only_if_the_menu_does_not_show_the_place(client, blog):
    guides = node("folder", "guides", parent=node("folder", "library", title="Library"), title="Guides")
    node("blog-entry", "post", parent=blog)
    node(slug="paper", parent=guides)
    kicker = '<p class="kicker"><a href="/news">News</a></p>'
    post, page = (client.get(path).content.decode() for path in ("/news/post", "/library/guides/paper"))
    assert kicker in post
    assert 'class="breadcrumbs"' not in post
    assert '<li><a href="/library">Library</a></li><li><a href="/library/guides">Guides</a></li>' in page
    save_settings({"menu": [{"label": "Elsewhere", "target": "https://example.org/"}]}, {"menu": []})
    post = client.get("/news/post").content.decode()
    assert '<li><a href="/news">News</a></li>' in post
    assert kicker not in post


def test_long_texts_list_their_headings(client, blog):
    sections = "\n\n".join(f"{'#' * level} Part *{n}* <&\n\n{'word ' * 250}" for n, level in enumerate((2, 3, 4, 2)))
    for slug, text in (
        ("long", sections),
        ("listed", f":::contents\n:::\n\n{sections}"),
        ("short", "## A\n\n## B\n\n## C"),
    ):
        node("blog-entry", slug, parent=blog, text=text)
    pages = {slug: client.get(f"/news/{slug}").content.decode() for slug in ("long", "listed", "short")}
    listed = re.findall(r'<li class="level-(\d)"><a href="#([^"]*)">([^<]*)</a>', pages["long"])
    assert listed == [
        ("1", "s-part-0", "Part 0 &lt;&amp;"),
        ("2", "s-part-1", "Part 1 &lt;&amp;"),
        ("1", "s-part-3", "Part 3 &lt;&amp;"),
    ]
    assert "insert-contents" in pages["listed"]
    assert "on-this-page" not in pages["listed"] + pages["short"]


def test_only_the_home_page_shows_the_tagline(client, blog):
    save_settings({"tagline": "On paper"}, {"tagline": ""})
    tagline = '<p class="site-tagline">On paper</p>'
    assert tagline in client.get("/").content.decode()
    assert tagline not in client.get("/news").content.decode()


def test_footer_links_follow_changes_and_due_times(client, mongo):
    page = node(slug="imprint", title="Imprint")
    assert "Imprint" in client.get("/").content.decode()
    editing.save(EDITOR, page, nonce(page), {"published": None})
    assert "Imprint" not in client.get("/").content.decode()
    soon = now() + timedelta(milliseconds=300)
    editing.save(EDITOR, page, nonce(page), {"published": soon})
    assert "Imprint" not in client.get("/").content.decode()
    while now() < soon:
        pass
    assert "Imprint" in client.get("/").content.decode()


def test_neighbours_follow_due_times(client, blog):
    node("blog-entry", "first", parent=blog, title="First", published=datetime(2022, 1, 1, tzinfo=UTC))
    soon = now() + timedelta(milliseconds=400)
    last = node("blog-entry", "last", parent=blog, title="Last", published=datetime(2022, 1, 2, tzinfo=UTC))
    node("blog-entry", "next", parent=blog, title="Next", published=soon)
    assert client.get("/news/last").context["newer"] is None
    while now() < soon:
        pass
    assert client.get("/news/last").context["newer"].metadata.title == "Next"
    soon = now() + timedelta(milliseconds=400)
    editing.save(EDITOR, last, nonce(last), {"expires": soon})
    assert client.get("/news/first").context["newer"].metadata.title == "Last"
    while now() < soon:
        pass
    assert client.get("/news/first").context["newer"].metadata.title == "Next"


def test_empty_site_shows_the_first_steps(mongo, client):
    page = client.get("/").content.decode()
    assert "<h1>Welcome</h1>" in page
    assert 'href="/admin/"' in page


def test_front_page_without_posts_lists_the_sections_and_pages_at_the_top_level(mongo, client):
    news = node("blog", "news", title="News")
    node(slug="about", title="About us")
    page = client.get("/").content.decode()
    assert "<h1>Welcome</h1>" not in page
    assert "Nothing has been published here yet." not in page
    assert re.findall(r'<h2><a href="(.*?)">(.*?)</a></h2>', page) == [("/news", "News"), ("/about", "About us")]
    node("blog-entry", "first", parent=news, title="First")
    page = client.get("/").content.decode()
    assert "First" in page
    assert 'class="contents"' not in page


@pytest.mark.parametrize(("type", "leads_to"), [("blog", "node/add/?section="), ("gallery", "photo/?section=")])
def test_empty_section_shows_editors_what_to_do(client, mongo, type, leads_to):
    section = node(type, "new")
    page = client.get("/new").content.decode()
    assert "published here yet." in page
    assert "/admin/" not in page
    client.force_login(User.objects.create_superuser("ed"))
    assert f'href="/admin/nodes/{leads_to}{section}"' in client.get("/new").content.decode()


@pytest.mark.parametrize(
    ("published", "zone", "shown"),
    [
        (datetime(1850, 5, 1, 12, tzinfo=UTC), "Europe/Berlin", "1850-05-01T12:00:00+00:00"),
        (datetime(1850, 5, 1, 12, tzinfo=UTC), "America/New_York", "1850-05-01T12:00:00+00:00"),
        (datetime(2020, 5, 1, 12, tzinfo=UTC), "Europe/Berlin", "2020-05-01T14:00:00+02:00"),
        (datetime(2020, 5, 1, 12, tzinfo=UTC), "Asia/Kathmandu", "2020-05-01T17:45:00+05:45"),
    ],
)
def test_dates_have_offsets_of_whole_minutes(client, blog, published, zone, shown):
    save_settings({"time_zone": zone}, {"time_zone": "UTC"})
    node("blog-entry", "post", parent=blog, published=published)
    for address in ("/", "/news/post"):
        assert f'datetime="{shown}"' in client.get(address).content.decode()
