"""The admin's forms for photos, without a browser."""

from typing import Any

from bson import ObjectId
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

JSON = {"accept": "application/json"}


def user(*permissions: str, name: str = "editor") -> User:
    """Create a staff account with the permissions that have these codenames."""
    account = User.objects.create_user(name, is_staff=True)
    for codename in permissions:
        account.user_permissions.add(Permission.objects.get(codename=codename))
    return account


def files(**named: bytes) -> list[SimpleUploadedFile]:
    """Return files for a form. For example, files(lake__jpg=data) returns a list with a file named lake.jpg."""
    return [SimpleUploadedFile(name.replace("__", "."), data) for name, data in named.items()]


def send(client: Client, parent: ObjectId, uploads: list[SimpleUploadedFile], **more: Any) -> Any:
    """Upload files to a gallery in the same way as the page's script, and return the response."""
    return client.post(reverse("admin:nodes_photo_upload", args=[parent]), {"files": uploads, **more}, headers=JSON)
