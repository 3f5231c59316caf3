"""The site's URLs, with those of the comments app's HTTP API, as a project without the CMS includes them."""

from django.urls import include, path

from cms.urls import urlpatterns as of_site

urlpatterns = [path("comments/api/", include("marginalia.comments.api.urls")), *of_site]
