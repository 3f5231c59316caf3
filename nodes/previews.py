"""Links that show others a page before it is public: signed, bound to one version of one node, and expiring."""

from dataclasses import dataclass

from bson import ObjectId
from django.core import signing
from django.urls import reverse

# Binds a signature to this purpose: nothing else that this site signs opens a preview.
SALT = "nodes.preview.version"
DAYS = 7


@dataclass(frozen=True)
class Preview:
    """What a link shows: what a node, or its draft, says under a nonce, and nothing that is saved later."""

    node_id: ObjectId
    nonce: ObjectId


def link(preview: Preview) -> str:
    """Return the path of a link that shows `preview` for DAYS days."""
    token = signing.dumps([str(preview.node_id), str(preview.nonce)], salt=SALT)
    return reverse("preview", args=[token])


def read(token: str) -> Preview | None:
    """Return what a link shows; None for one that is forged, meant for something else, or too old."""
    try:
        node_id, nonce = signing.loads(token, salt=SALT, max_age=DAYS * 86_400)
    except signing.BadSignature:
        return None
    return Preview(ObjectId(node_id), ObjectId(nonce))
