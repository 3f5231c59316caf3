"""Addresses of what editors wrote. The last route takes what no other did: include this after all others."""

from django.urls import path, register_converter

from nodes import feeds, views
from nodes.converters import NodePathConverter, ObjectIdConverter

register_converter(ObjectIdConverter, "objectid")
register_converter(NodePathConverter, "nodepath")

urlpatterns = [
    path("", views.home, name="home"),
    path("tag/<str:tag>", views.tag, name="tag"),
    path("<nodepath:path>/feed/<slug:form>", feeds.blog, name="blog-feed"),
    path("<nodepath:path>", views.node, name="node"),
]
