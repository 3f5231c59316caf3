from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("nodes.urls")),
]

handler500 = "cms.errors.server_error"
