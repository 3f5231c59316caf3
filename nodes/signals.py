"""What nodes tell the rest of the site."""

from django.dispatch import Signal

# Sent after a node was deleted for good. Arguments: node_id (ObjectId), type (str): only with both is it one thing.
node_deleted = Signal()
