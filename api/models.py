"""The model of pages on other sites that embed a discussion (api/embed/)."""

from urllib.parse import urldefrag

from django.db import models

from api.collections import EMBEDDED_PAGES
from marginalia.mongo.models import ReadOnlyModel


class EmbeddedPage(ReadOnlyModel):
    """A page on another site, with a discussion that is stored on this site. `api.embed.pages` writes the documents."""

    id = models.CharField(primary_key=True, max_length=32, db_column="_id")
    # The page's address, as parsed by `api.embed.pages.PageAddress`.
    address = models.CharField(max_length=1_000)
    title = models.CharField(max_length=200)
    created = models.DateTimeField()

    class Meta:
        managed = False
        db_table = EMBEDDED_PAGES
        default_permissions = ()

    def __str__(self) -> str:
        return self.title or self.get_absolute_url()

    def get_absolute_url(self) -> str:
        """Return the page's URL, which begins with the origin of another site."""
        return urldefrag(self.address).url
