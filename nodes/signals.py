"""Signals about nodes for the rest of the site."""

from django.dispatch import Signal

# Sent after a node was permanently deleted. Arguments: node_id (ObjectId), type (str). Ids are unique only per type.
node_deleted = Signal()

# Sent after fields of a node or photo were saved. Arguments: node_id (ObjectId), type (str), changed (frozenset of paths).
fields_saved = Signal()
