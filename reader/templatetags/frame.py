"""{% load frame %}: render parts that are the same on many pages, such as the menu, only once."""

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.urls import get_script_prefix
from django.utils.translation import get_language

from marginalia.comments.reading import versions
from marginalia.comments.reading.versions import ReadVersions
from marginalia.mongo.clock import now
from marginalia.mongo.engine.read_tracking import watch_reads
from nodes.models import version_cache

register = template.Library()


class FrameNode(template.Node):
    """The template tag `{% frame … %}`. Its content can't contain blocks."""

    # Without this, Django would search the content for blocks each time a page is rendered.
    child_nodelists = ()

    def __init__(self, values: list[FilterExpression], nodelist: NodeList) -> None:
        self.values = values
        self.nodelist = nodelist
        # Whether the content reads anything that can change without a change of the `lists` version, for example in a
        # template of a theme.
        self.is_volatile = False

    def render(self, context: Context) -> str:
        if not self.is_volatile:
            values = (value.resolve(context, ignore_failures=True) for value in self.values)
            key = (self, get_language(), get_script_prefix(), *values)
            html = version_cache.get_or_set(key, now(), lambda: (self._render_watched(context), None))
        # Render volatile content again, so that the page's own records contain the reads.
        return self.nodelist.render(context) if self.is_volatile else html

    def _render_watched(self, context: Context) -> str:
        with watch_reads() as reads, versions.recorded() as discussions:
            html = self.nodelist.render(context)
        # Another thread may have set the flag, because its content reads more. Never reset it.
        if reads.has_untracked or discussions != ReadVersions():
            self.is_volatile = True
        return html


@register.tag
def frame(parser: Parser, token: Token) -> FrameNode:
    """{% frame menu.entries is_home %}…{% endframe %}: render the content once for each combination of values.

    The content can depend only on the site's settings, the language, and the given values. A node is given as its
    nonce, and its photo. The values must be hashable. If the content reads anything else, it is always rendered again.
    """
    _name, *values = token.split_contents()
    nodelist = parser.parse(("endframe",))
    parser.delete_first_token()
    return FrameNode([parser.compile_filter(value) for value in values], nodelist)
