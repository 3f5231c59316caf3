"""Configurations of Django's own apps with ObjectId keys."""

from django.contrib.admin.apps import AdminConfig as StockAdminConfig
from django.contrib.auth.apps import AuthConfig as StockAuthConfig
from django.contrib.contenttypes.apps import ContentTypesConfig as StockContentTypesConfig

OBJECT_ID = "django_mongodb_backend.fields.ObjectIdAutoField"


class AdminConfig(StockAdminConfig):
    default_auto_field = OBJECT_ID
    default_site = "cms.dashboard.admin_site.MarginaliaAdminSite"


class AuthConfig(StockAuthConfig):
    default_auto_field = OBJECT_ID


class ContentTypesConfig(StockContentTypesConfig):
    default_auto_field = OBJECT_ID
