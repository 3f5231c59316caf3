"""Pages per second, relative to a bare Django view in the same minute (docs/internals/benchmarks.md)."""

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
# Number of series between two measurements of the bare view. It is low, because processor speed changes within seconds.
BARE_EVERY = 3
# Minimum ratios to the bare view's pages per second.
GOALS = {("post, 100 comments threaded", "uncached"): 0.08, ("post, 100 comments threaded", "cached"): 0.55}
GOALS["post, 100 comments threaded", "304"] = 0.55


@dataclass
class Series:
    """Results for one page served in one way: a load and its ratio to the bare view for each round."""

    page: str
    way: str
    loads: list[Any] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def row(self) -> list[object]:
        """Return the table's row."""
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
            "" if goal is None else f"≥ {goal:g}: {'met' if ratio >= goal else 'missed'}",
        ]


def main() -> None:
    """Measure the pages, and publish the results."""
    with site.temporary_site() as folder, ExitStack() as servers:
        site.set_up(NODES)
        from benchmarks import web
        from marginalia.mongo.connection import database

        web.require_wrk()
        paths = dict(measured_pages())
        bare = servers.enter_context(web.serve_bare(folder))
        cold = servers.enter_context(web.serve("cms.wsgi:application", folder, {"PAGE_CACHE_MB": "0"}))
        warm = servers.enter_context(web.serve("cms.wsgi:application", folder))
        all_series = [Series(name, "uncached") for name in paths]
        all_series += [Series(name, "cached") for name in paths if "etag" in warm.get(paths[name])[1]]
        all_series += [Series(series.page, "304") for series in all_series if series.way == "cached"]
        post = next(iter(paths))
        size = len(warm.get(paths[post])[2])
        [id] = [discussion["_id"] for discussion in database().discussions.find().sort("count", -1).limit(1)]
        paths |= {
            "bare view": "/",
            "bare, one command": f"/read/2?discussion={quote(id)}",
            f"bare, one command, {size:,} bytes": f"/read/{size}?discussion={quote(id)}",
            f"bare, what the post reads, {size:,} bytes": f"/read-all/{size}?discussion={quote(id)}",
        }
        baseline, *ceilings = [Series(name, "bare") for name in list(paths)[-4:]]
        all_series = ceilings + all_series
        for _ in range(ROUNDS):
            for turn, series in enumerate(all_series):
                if turn % BARE_EVERY == 0:
                    baseline.loads.append(bare.load("/", SECONDS))
                server = {"bare": bare, "uncached": cold}.get(series.way, warm)
                path = paths[series.page]
                headers = {"If-None-Match": server.get(path)[1]["etag"]} if series.way == "304" else {}
                if (status := server.get(path, headers)[0]) != (304 if series.way == "304" else 200):
                    raise RuntimeError(f"{path}: status {status}")
                series.loads.append(server.load(path, SECONDS, headers))
                series.ratios.append(series.loads[-1].rate / baseline.loads[-1].rate)
        usual = statistics.median(load.rate for load in baseline.loads)
        baseline.ratios = [load.rate / usual for load in baseline.loads]
        about = ABOUT.format(web=web, rounds=ROUNDS, seconds=SECONDS, nodes=NODES, comments=COMMENTS)
        rows = [series.row() for series in (baseline, *all_series)]
        report.publish("pages", [report.Table("Pages per second", about, COLUMNS, rows)])


COLUMNS = ["Page", "", "Pages/s", "Ratio", "Range", "Web, ms", "MongoDB, ms", "p99, ms", "Goal"]
ABOUT = """The bare view is a Django view that returns two bytes, without any middleware or custom settings. The three
views below it in the table are upper limits for the site. The first view reads only the cache versions of a post, as
the page cache does if a page may have changed, and returns two bytes. The second view returns as many bytes as the
post. No page that is compared with the database can be faster. The third view reads all of the post's data and
returns the stored text of the comments. No rendered page can be faster. gunicorn serves all pages with {web.WORKERS}
workers, and wrk uses {web.CONNECTIONS} connections. The figures are medians of {rounds} rounds of {seconds} s.
*Ratio* compares each page with the most recent measurement of the bare view. The range in the row of the bare view
shows how much the speed of the machine varied. *Uncached* means that the page cache is off. *Cached* pages are served
from the page cache. The site listens for changes, so these pages need no database command. Only API responses are
compared on each request. *304* is a request for the cached page with its ETag. *Web* and *MongoDB* show the CPU time
that each of them uses per page. *API* returns the same content as JSON, without comments. The site has {nodes:,}
nodes, and the post has {comments} comments, of which 100 are shown."""


def measured_pages() -> Iterator[tuple[str, str]]:
    """Add comments to a post, publish a photo, and yield (name, path) for every measured page."""
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from nodes.selectors import stored_nodes

    photo = content.publish_photo()
    sections = tree.current()
    blog = next(section for section in sections.sections.values() if section.slug == "blog-1")
    post = stored_nodes.entries(blog.id, now(), size=1).nodes[0]
    content.add_comments(post, COMMENTS)
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
    yield "API: the post with its text as HTML", f"/api/v1/nodes/{post.pk}?include=body_html"
    yield "API: newest 20", "/api/v1/nodes"
    yield "API: newest 20, complete", "/api/v1/nodes?include=detail,body_html"
