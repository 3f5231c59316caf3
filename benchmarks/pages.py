"""Pages a second, as a part of what a bare Django view does in the same minute (docs/reference/benchmarks.md)."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from benchmarks import content, report, site

ROUNDS, SECONDS = (1, 1) if site.QUICK else (5, 1)
NODES = 100 if site.QUICK else 1_000
COMMENTS = 250
# The processors' speed changes within seconds: so many series are compared with one turn of the bare view.
BARE_EVERY = 3
# What is wanted: the least part of a bare view's pages a second.
GOALS = {("post, 100 comments threaded", "cold"): 0.08, ("post, 100 comments threaded", "kept"): 0.33}
GOALS["post, 100 comments threaded", "304"] = 0.33


@dataclass
class Series:
    """What was measured of one page in one way, a load and its part of the bare view's rate a round."""

    page: str
    way: str
    loads: list[Any] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def row(self) -> list[object]:
        """Return the line of the table."""
        ratio = statistics.median(self.ratios)
        goal = GOALS.get((self.page, self.way))
        rate, p99, web, mongod = (
            statistics.median(getattr(load, name) for load in self.loads) for name in ("rate", "p99", "web", "mongod")
        )
        return [
            self.page,
            self.way,
            f"{rate:,.0f}",
            f"{ratio:.3f}",
            f"{min(self.ratios):.3f}–{max(self.ratios):.3f}",
            f"{web:.2f}",
            f"{mongod:.2f}",
            f"{p99:.1f}",
            "" if goal is None else f"≥ {goal:g}: {'kept' if ratio >= goal else 'missed'}",
        ]


def main() -> None:
    """Measure, print, publish."""
    with site.served_by_mongod() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import web
        from marginalia.mongo.connection import database

        web.require_wrk()
        paths = dict(addresses())
        bare = servers.enter_context(web.started("benchmarks.bare:application", folder))
        cold = servers.enter_context(web.started("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        warm = servers.enter_context(web.started("cms.wsgi:application", folder))
        every = [Series(name, "cold") for name in paths]
        every += [Series(name, "kept") for name in paths if "etag" in warm.get(paths[name])[1]]
        every += [Series(one.page, "304") for one in every if one.way == "kept"]
        post = next(iter(paths))
        size = len(warm.get(paths[post])[2])
        [id] = [one["_id"] for one in database().discussions.find().sort("count", -1).limit(1)]
        paths |= {
            "bare view": "/",
            "bare, one command": f"/read/2?discussion={quote(id)}",
            f"bare, one command, {size:,} bytes": f"/read/{size}?discussion={quote(id)}",
            f"bare, what the post reads, {size:,} bytes": f"/read-all/{size}?discussion={quote(id)}",
        }
        barest, *others = [Series(name, "bare") for name in list(paths)[-4:]]
        every = others + every
        for _ in range(ROUNDS):
            for turn, one in enumerate(every):
                if turn % BARE_EVERY == 0:
                    barest.loads.append(bare.loaded("/", SECONDS))
                server = {"bare": bare, "cold": cold}.get(one.way, warm)
                path = paths[one.page]
                headers = {"If-None-Match": server.get(path)[1]["etag"]} if one.way == "304" else {}
                if (status := server.get(path, headers)[0]) != (304 if one.way == "304" else 200):
                    raise RuntimeError(f"{path}: status {status}")
                one.loads.append(server.loaded(path, SECONDS, headers))
                one.ratios.append(one.loads[-1].rate / barest.loads[-1].rate)
        usual = statistics.median(load.rate for load in barest.loads)
        barest.ratios = [load.rate / usual for load in barest.loads]
        about = ABOUT.format(web=web, rounds=ROUNDS, seconds=SECONDS, nodes=NODES, comments=COMMENTS)
        rows = [one.row() for one in (barest, *every)]
        report.publish("pages", [report.Table("Pages a second", about, COLUMNS, rows)])


COLUMNS = ["Page", "", "Pages/s", "Ratio", "Least–most", "Web, ms", "MongoDB, ms", "p99, ms", "Goal"]
ABOUT = """The bare view is Django without middleware or settings that answers two bytes. Below it stand three ceilings: a view
that only reads the versions of a post, as the page cache does, and answers two bytes (no 304 can do more), or as many as the
post has (no kept page can do more); and one that reads all that the post is made of, and answers the comments' stored texts one
after the other (no cold page can do more). All are served by gunicorn as `make run` sets it, with {web.WORKERS} workers, and
loaded by wrk over {web.CONNECTIONS} connections; medians of {rounds} rounds of {seconds} s, each ratio to the bare view of the
same seconds; that view's own spread says how steady the machine was. *cold*: without the page cache; *kept*: from it, compared
with the database at every request; *304*: the same, asked with the entity tag (feeds are made first). *Web* and *MongoDB* are
the processors' time that a page costs each. *API*: the same content as JSON, without a token; the post without its comments. A
site of {nodes:,} nodes; {comments} comments on the post, 100 of them shown."""


def addresses() -> Iterator[tuple[str, str]]:
    """Yield (what it is, path) of every page that is measured; the post gets its comments here."""
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from nodes.selectors import stored_nodes

    photo = content.photo()
    sections = tree.current()
    blog = next(section for section in sections.sections.values() if section.slug == "blog-1")
    post = stored_nodes.entries(blog.id, now(), size=1).nodes[0]
    content.discuss(post, COMMENTS)
    yield "post, 100 comments threaded", post.get_absolute_url()
    yield "post, 100 comments oldest first", f"{post.get_absolute_url()}?comments=oldest"
    yield "photo", photo
    yield "home", "/"
    yield "blog", sections.url(blog.parent_id, blog.slug)
    yield "tag", f"/tag/{post.metadata.tags[0]}"
    yield "feed", "/feed/atom"
    yield "sitemap", "/sitemap-blog-entry-1.xml"
    yield "search", f"/search?q={post.metadata.title.split()[0]}"
    yield "API: the post", f"/api/v1/nodes/{post.pk}"
    yield "API: the post, its text as HTML", f"/api/v1/nodes/{post.pk}?include=body_html"
    yield "API: newest 20", "/api/v1/nodes"
    yield "API: newest 20, whole", "/api/v1/nodes?include=detail,body_html"
