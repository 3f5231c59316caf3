from typing import Any

from bson import ObjectId
from django.apps import AppConfig


class WordpressConfig(AppConfig):
    name = "wordpress"
    verbose_name = "WordPress import"

    def ready(self) -> None:
        """Register a signal receiver.

        When a node is permanently deleted, the receiver deletes what the importer has stored about this node.
        """
        from nodes.signals import node_deleted
        from wordpress import previous_runs

        def forget(*, node_id: ObjectId, **kwargs: Any) -> None:
            previous_runs.forget(node_id)

        node_deleted.connect(forget, weak=False, dispatch_uid="wordpress.previous_runs")
