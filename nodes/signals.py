"""Signals about nodes for other parts of the site."""

from django.dispatch import Signal

# This signal is sent when a node has been permanently deleted. Arguments: node_id (ObjectId), type (str). A node and a
# photo can have the same id.
node_deleted = Signal()

# This signal is sent when fields of a node or photo have been saved. Arguments: node_id (ObjectId), type (str), changed
# (frozenset of paths).
fields_saved = Signal()
