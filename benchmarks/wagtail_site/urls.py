"""Both APIs of Wagtail, and its pages, which have addresses in what they answer."""

from django.urls import include, path
from wagtail import urls as pages
from wagtail.api.v2.router import WagtailAPIRouter
from wagtail.api.v2.views import PagesAPIViewSet
from wagtail.api.v3.urls import api

router = WagtailAPIRouter("wagtailapi")
router.register_endpoint("pages", PagesAPIViewSet)
urlpatterns = [path("api/v2/", router.urls), path("api/v3/", api.urls), path("", include(pages))]
