"""URLs of both Wagtail APIs, of django-comments-xtd, and of Wagtail's pages."""

from django.urls import include, path
from wagtail import urls as pages
from wagtail.api.v2.router import WagtailAPIRouter
from wagtail.api.v2.views import PagesAPIViewSet
from wagtail.api.v3.urls import api

router = WagtailAPIRouter("wagtailapi")
router.register_endpoint("pages", PagesAPIViewSet)
urlpatterns = [path("api/v2/", router.urls), path("api/v3/", api.urls)]
urlpatterns += [path("comments/", include("django_comments_xtd.urls")), path("", include(pages))]
