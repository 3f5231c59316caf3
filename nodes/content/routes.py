"""Routes: methods of content types that answer requests for URLs below a page, such as /events/calendar/2026."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from django.urls import ResolverMatch, URLPattern, URLResolver, path
from django.urls.resolvers import RegexPattern

F = TypeVar("F", bound=Callable[..., Any])

# The value of `reads` for routes whose responses depend only on pages and photos.
PAGES = "pages"
GET, HEAD, POST = "GET", "HEAD", "POST"
# The name of the attribute in which `route` stores the routes of a method.
_ATTRIBUTE = "node_routes"


@dataclass(frozen=True)
class Route:
    """A path below the URL of a page, and the method of the content type that answers requests for it.

    Attributes:
        path: The path in the syntax of django.urls.path(), without a slash at the beginning or end.
        name: The name with which code and templates refer to the route.
        attribute: The name of the method.
        methods: The HTTP methods. HEAD is allowed if GET is.
        reads: PAGES if responses can be cached, or "".
        parameters: The query parameters that the method reads.
        template: The template for methods that return a context, or "" for nodes/<type>-<name>.html.
        in_sitemap: Whether the sitemap contains the URL.
    """

    path: str
    name: str
    attribute: str = ""
    methods: tuple[str, ...] = (GET,)
    reads: str = ""
    parameters: tuple[str, ...] = ()
    template: str = ""
    in_sitemap: bool = False

    def __call__(self, detail: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the method on `detail`, an instance of the content type."""
        return getattr(detail, self.attribute)(*args, **kwargs)

    @property
    def allowed_methods(self) -> tuple[str, ...]:
        return (*self.methods, HEAD) if GET in self.methods else self.methods

    @property
    def pattern(self) -> URLPattern:
        """The URL pattern of the route, relative to the URL of the page.

        Raises:
            ImproperlyConfigured: The path isn't valid.
        """
        return _pattern(self)


def route(
    path: str,
    *,
    name: str = "",
    methods: Sequence[str] = (GET,),
    reads: str = "",
    parameters: Sequence[str] = (),
    template: str = "",
    in_sitemap: bool = False,
) -> Callable[[F], F]:
    """Declare that a method of a content type answers requests for a path below the page's URL.

    The method receives the request and the values in the path, and `self.node` is the page. The method returns a
    response, or a dictionary with the context for the template. A method can have several routes.

    Args:
        path: The path, in the syntax of django.urls.path(), such as "calendar/<int:year>".
        name: The name with which code and templates refer to the route. The default is the name of the method.
        methods: The HTTP methods that the route accepts. GET includes HEAD.
        reads: "pages" if the response depends only on the URL, on pages and on photos. The page cache then stores the
            response. If the method reads anything else, leave this empty.
        parameters: The query parameters that the method reads. If a request has others, the response isn't cached.
        template: The template for a context. The default is nodes/<type>-<name>.html.
        in_sitemap: Whether to list the URL in the sitemap. The path can't contain values.
    """

    def declare(function: F) -> F:
        declared = Route(
            path,
            name or function.__name__,
            function.__name__,
            tuple(methods),
            reads,
            tuple(parameters),
            template,
            in_sitemap,
        )
        setattr(function, _ATTRIBUTE, (declared, *getattr(function, _ATTRIBUTE, ())))
        return function

    return declare


def declared(content_type: type) -> tuple[Route, ...]:
    """Return the routes of a class and its base classes, in the order of their declaration."""
    members = {name: value for above in reversed(content_type.__mro__) for name, value in vars(above).items()}
    return tuple(
        replace(route, attribute=name)
        for name, value in members.items()
        if callable(value)
        for route in getattr(value, _ATTRIBUTE, ())
    )


def match(routes: Sequence[Route], rest: str) -> ResolverMatch | None:
    """Return the ResolverMatch for the first route that matches the path `rest`, or None. Its `func` is the Route."""
    for route in routes:
        if found := route.pattern.resolve(rest):
            return found
    return None


def reverse(routes: tuple[Route, ...], name: str, *args: Any, **kwargs: Any) -> str:
    """Return the quoted path of the route `name` with these values, relative to the URL of the page.

    Raises:
        NoReverseMatch: There is no such route.
    """
    return _resolver(routes).reverse(name, *args, **kwargs)


@cache
def _pattern(route: Route) -> URLPattern:
    return path(route.path, route, name=route.name)


@cache
def _resolver(routes: tuple[Route, ...]) -> URLResolver:
    return URLResolver(RegexPattern(""), [route.pattern for route in routes])
