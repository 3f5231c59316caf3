"""Addresses of what editors wrote. The last routes take what no other did: include this after all others."""

from django.urls import path

from nodes import feeds, photo_views, preview_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("preview/<str:token>", preview_views.by_link, name="preview"),
    path("tag/<tag:tag>", views.tag, name="tag"),
    path("media/<objectid:photo_id>/<objectid:content_id>/<str:spec>", photo_views.file, name="photo-file"),
    path("<nodepath:path>/feed/<slug:form>", feeds.blog, name="blog-feed"),
    path("<nodepath:path>", views.node, name="node"),
    path("<nodepath:path>/", views.without_slash, name="without-slash"),
]
