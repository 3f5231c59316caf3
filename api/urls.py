"""The API's URLs: its routers under /api/v1/, its OpenAPI document and its reference page."""

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from api import extensions, problems, redirects, site, site_settings
from api.changes import reading
from api.comments import banning
from api.embed import writing
from api.http.routing import Api, StrictParser
from api.nodes import bulk
from api.photos import permission, resuming
from api.problems import Problem
from api.schemas import openapi, reference

api = Api(
    title="Marginalia",
    version="1",
    description="Pages, posts, photos and discussions of this site, with the same rules as in the admin.",
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
    parser=StrictParser(),
)
for router in (
    bulk.router,
    banning.router,
    writing.router,
    site.router,
    site_settings.router,
    redirects.router,
    reading.router,
    resuming.router,
):
    api.add_router("", router)
extensions.mount(api)


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """Return a 404 problem for any URL without an operation, regardless of the method or body."""
    hint = " Remove the slash at the end." if request.path.endswith("/") else ""
    return problems.problem_response(Problem("not-found", f"This URL doesn't exist in the API.{hint}"))


urlpatterns = [
    path("v1/", reference.page, {"api": api}, name="api-reference"),
    path("v1/openapi.json", openapi.document, {"api": api}, name="api-schema"),
    path("v1/photos/may-send", permission.may_send, name="api-may-send-photos"),
    path("v1/", api.urls),
    # Match all paths, even those with line breaks, because no URL under this prefix belongs to the site's pages.
    re_path("^", unknown),
]
