"""App configurations for Django's own apps that use ObjectId keys."""

from django.contrib.admin.apps import AdminConfig as StockAdminConfig
from django.contrib.auth.apps import AuthConfig as StockAuthConfig
from django.contrib.contenttypes.apps import ContentTypesConfig as StockContentTypesConfig

OBJECT_ID = "django_mongodb_backend.fields.ObjectIdAutoField"


class AdminConfig(StockAdminConfig):
    """Django's admin app with ObjectId keys and this site's AdminSite."""

    default_auto_field = OBJECT_ID
    default_site = "cms.dashboard.admin_site.MarginaliaAdminSite"


class AuthConfig(StockAuthConfig):
    """Django's auth app with ObjectId keys."""

    default_auto_field = OBJECT_ID


class ContentTypesConfig(StockContentTypesConfig):
    """Django's contenttypes app with ObjectId keys."""

    default_auto_field = OBJECT_ID
