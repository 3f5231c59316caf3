"""URLs of the public pages. The last routes match any path, so include these URLs after all other URLs."""

from django.urls import path

from photos import views
from reader import converters, sitemaps  # noqa: F401 - registers a converter
from reader.views import authors, feeds, finding, look, pages, previews, searching

urlpatterns = [
    path("", pages.home, name="home"),
    path("preview/<str:token>", previews.by_link, name="preview"),
    path("robots.txt", sitemaps.robots, name="robots"),
    path("sitemap.xml", sitemaps.index, name="sitemap"),
    path("sitemap-<slug:kind>-<int:number>.xml", sitemaps.page, name="sitemap-page"),
    path("search", searching.search_page, name="search"),
    path("search/suggestions", searching.search_suggestions, name="search-suggestions"),
    path("feed/<slug:form>", feeds.site, name="site-feed"),
    path("tag", pages.tags, name="tags"),
    path("tag/<tag:tag>/feed/<slug:form>", feeds.tag, name="tag-feed"),
    path("tag/<tag:tag>", pages.tag, name="tag"),
    path("author/<nodepart:slug>/feed/<slug:form>", feeds.author, name="author-feed"),
    path("author/<nodepart:slug>", authors.author, name="author"),
    path("media/find", pages.find_photos, name="find-photos"),
    path("media/look/<str:name>.css", look.stylesheet, name="look-sheet"),
    path("media/look/<objectid:content_id>/<str:icon>.png", look.icon, name="look-icon"),
    path("media/<objectid:photo_id>", pages.library_photo, name="photo"),
    path("media/file/<objectid:file_id>/<str:filename>", views.download, name="file"),
    # If the URL contains the gallery, the lookup is faster. A URL without a gallery, or with a previous gallery of the
    # photo, returns the same file.
    path("media/<objectid:photo_id>/<objectid:content_id>/<str:spec>", views.file, name="photo-file"),
    path(
        "media/<objectid:photo_id>/<objectid:content_id>/<objectid:gallery_id>/<str:spec>",
        views.file,
        name="photo-file",
    ),
    path("<nodepath:path>/feed/<slug:form>", feeds.blog, name="blog-feed"),
    path("<nodepath:path>/archive", finding.archive, name="archive"),
    path("<nodepath:path>/archive/<year:year>", finding.archive_of, name="archive-year"),
    path("<nodepath:path>/archive/<year:year>/<month:month>", finding.archive_of, name="archive-month"),
    path("<nodepath:path>", pages.node, name="node"),
    path("<nodepath:path>/", pages.without_slash, name="without-slash"),
    # The paths of routes can contain any characters, for example the dot in "calendar.ics".
    path("<noderoute:path>", pages.node, name="node"),
]
