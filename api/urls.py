"""Where the API stands: its routers under /api/v1/, its schema, the page that explains it."""

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from api import problems, site, site_settings
from api.changes import reading
from api.comments import moderating
from api.http.routing import Api, StrictParser
from api.nodes import bulk
from api.photos import permission, resuming
from api.problems import Problem
from api.schemas import openapi, reference

api = Api(
    title="Marginalia",
    version="1",
    description="Pages, posts, photos and discussions of this site, over the rules that its editors' pages follow.",
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
    parser=StrictParser(),
)
for router in (bulk.router, moderating.router, site.router, site_settings.router, reading.router, resuming.router):
    api.add_router("", router)


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """Answer 404 for whatever has no operation, as a problem, whatever is sent to it."""
    hint = " Its addresses have no slash at the end." if request.path.endswith("/") else ""
    return problems.answer(Problem("not-found", f"There is no such address in the API.{hint}"))


urlpatterns = [
    path("v1/", reference.page, {"api": api}, name="api-reference"),
    path("v1/openapi.json", openapi.document, {"api": api}, name="api-schema"),
    path("v1/photos/may-send", permission.may_send, name="api-may-send-photos"),
    path("v1/", api.urls),
    # Whatever follows, line ends too: no address here is one of the site.
    re_path("^", unknown),
]
