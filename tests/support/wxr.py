"""Small WordPress exports for tests."""

from xml.sax.saxutils import escape, quoteattr

EMPTY_DATE = "0000-00-00 00:00:00"


def export(*items: str, version: str = "1.2", scheme: str = "http", head: str = "", site: str = "https://old.example"):
    """Return a complete export. `head` contains authors and terms, and is inserted before the items."""
    space = f"{scheme}://wordpress.org/export/{version}/"
    return f"""<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0" xmlns:excerpt="{space}excerpt/" xmlns:content="{scheme}://purl.org/rss/1.0/modules/content/"
 xmlns:wfw="http://wellformedweb.org/CommentAPI/" xmlns:dc="{scheme}://purl.org/dc/elements/1.1/" xmlns:wp="{space}">
<channel>
<title>Old site</title><link>{site}</link><description>As it was</description><language>en</language>
<wp:wxr_version>{version}</wp:wxr_version>
<wp:base_site_url>{site}/</wp:base_site_url><wp:base_blog_url>{site}</wp:base_blog_url>
{head}
{"".join(items)}
</channel>
</rss>
""".encode()


def author(login: str, name: str) -> str:
    """Return an author's declaration, as in WXR 1.1 and later."""
    return (
        f"<wp:author><wp:author_id>2</wp:author_id><wp:author_login>{login}</wp:author_login>"
        f"<wp:author_email>{login}@private.example</wp:author_email>"
        f"<wp:author_display_name>{cdata(name)}</wp:author_display_name></wp:author>"
    )


def item(id: int | str, title: str = "A post", body: str = "", *parts: str, **values: object) -> str:
    """Return an item.

    `parts` are comments, terms and metadata. `values` are the contents of wp: elements, and of link, guid and creator.
    """
    wp: dict[str, object] = {
        "post_id": id,
        "post_date": "2012-03-04 07:08:09",
        "post_date_gmt": "2012-03-04 05:08:09",
        "comment_status": "open",
        "post_name": f"post-{id}",
        "status": "publish",
        "post_parent": 0,
        "menu_order": 0,
        "post_type": "post",
        "post_password": "",
        "is_sticky": 0,
    }
    link = values.pop("link", f"https://old.example/2012/03/post-{id}/")
    guid = values.pop("guid", f"https://old.example/?p={id}")
    creator = values.pop("creator", "ada")
    date = values.pop("pub_date", "")
    excerpt = str(values.pop("excerpt", ""))
    wp.update(values)
    elements = "".join(
        f"<wp:{name}>{escape(str(value))}</wp:{name}>\n" for name, value in wp.items() if value is not None
    )
    return f"""<item>
<title>{escape(title)}</title><link>{escape(str(link))}</link><pubDate>{date}</pubDate>
<dc:creator>{escape(str(creator))}</dc:creator><guid isPermaLink="false">{escape(str(guid))}</guid>
<description></description>
<content:encoded>{cdata(body)}</content:encoded><excerpt:encoded>{cdata(excerpt)}</excerpt:encoded>
{elements}{"".join(parts)}</item>
"""


def page(id: int, title: str, body: str = "", *parts: str, **values: object) -> str:
    """Return an item that is a page."""
    same = {
        "link": f"https://old.example/page-{id}/",
        "guid": f"https://old.example/?page_id={id}",
        "post_type": "page",
    }
    return item(id, title, body, *parts, **{**same, "post_name": f"page-{id}", **values})


def attachment(id: int, url: str, title: str = "A picture", *parts: str, **values: object) -> str:
    """Return an item that is a file in the media library."""
    same = {"post_type": "attachment", "status": "inherit", "attachment_url": url, "guid": url}
    return item(id, title, "", *parts, **{**same, "post_name": f"file-{id}", **values})


def comment(
    id: int, text: str = "Well said", parent: int = 0, approved: str = "1", kind: str = "", **values: str
) -> str:
    """Return a comment on an item. `values` replace the author, email, url, date and gmt."""
    return f"""<wp:comment>
<wp:comment_id>{id}</wp:comment_id>
<wp:comment_author>{cdata(values.get("author", "Grace"))}</wp:comment_author>
<wp:comment_author_email>{values.get("email", "grace@private.example")}</wp:comment_author_email>
<wp:comment_author_url>{values.get("url", "")}</wp:comment_author_url>
<wp:comment_author_IP>192.0.2.7</wp:comment_author_IP>
<wp:comment_date>{values.get("date", f"2012-03-05 07:00:{id % 60:02}")}</wp:comment_date>
<wp:comment_date_gmt>{values.get("gmt", f"2012-03-05 05:00:{id % 60:02}")}</wp:comment_date_gmt>
<wp:comment_content>{cdata(text)}</wp:comment_content>
<wp:comment_approved>{approved}</wp:comment_approved>
<wp:comment_type>{kind}</wp:comment_type>
<wp:comment_parent>{parent}</wp:comment_parent>
<wp:comment_user_id>0</wp:comment_user_id>
<wp:commentmeta><wp:meta_key>akismet</wp:meta_key><wp:meta_value>{cdata("not read")}</wp:meta_value></wp:commentmeta>
</wp:comment>
"""


def term(name: str, domain: str | None = "category", slug: str | None = None) -> str:
    """Return an item's category or tag. In WXR 1.0, the domain and slug can be missing."""
    attributes = "" if domain is None else f' domain="{domain}" nicename={quoteattr(slug or name.lower())}'
    return f"<category{attributes}>{cdata(name)}</category>"


def meta(key: str, value: str) -> str:
    """Return one of an item's metadata fields."""
    return f"<wp:postmeta><wp:meta_key>{key}</wp:meta_key><wp:meta_value>{cdata(value)}</wp:meta_value></wp:postmeta>"


def cdata(text: str) -> str:
    """Return a text in CDATA sections, as WordPress writes it. If it contains "]]>", the section is split there."""
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"
