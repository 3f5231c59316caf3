"""`manage.py setup_shards`: shard the collections by the keys that the apps declare."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from marginalia.mongo import indexes, sharding
from marginalia.mongo.collections import mongodb_aliases, mongodb_collections
from marginalia.mongo.connection import database
from marginalia.mongo.doctor import queries
from marginalia.mongo.management.base import MongoCommand
from marginalia.mongo.sharding import ranges, targeting


class Command(MongoCommand):
    help = (
        "Plan, apply or show the sharding of the declared collections. To apply the plan, set MONGODB_URI to a mongos."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--plan", action="store_true", help="show the planned changes, and change nothing")
        mode.add_argument("--status", action="store_true", help="show how many chunks and how much data each shard has")
        parser.add_argument(
            "--presplit",
            type=int,
            default=0,
            metavar="N",
            help=(
                "split collections with evenly distributed ids into N ranges (2 to "
                f"{ranges.MAX_RANGES}), and distribute the empty ranges over the shards"
            ),
        )
        parser.add_argument(
            "--zones", action="store_true", help="with --presplit: make the balancer keep each range on its shard"
        )
        parser.add_argument(
            "--shard",
            action="append",
            default=[],
            metavar="NAME",
            help="with --presplit: use this shard (can be repeated; default: all shards)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["status"]:
            for alias in mongodb_aliases():
                self._show(alias)
            return
        if options["presplit"] and not 2 <= options["presplit"] <= ranges.MAX_RANGES:
            raise CommandError(f"--presplit must be from 2 to {ranges.MAX_RANGES}.")
        if not options["presplit"] and (options["zones"] or options["shard"]):
            raise CommandError("--zones and --shard need --presplit.")
        try:
            statements = sharding.plan()
        except sharding.CannotShard as error:
            raise CommandError(str(error)) from error
        for statement in statements:
            self.stdout.write(str(statement))
        for name, reason in sharding.unsharded():
            self.stdout.write(f"= {name}: stays on one shard  {reason}")
        for alias in mongodb_aliases():
            self._show_broadcasts(alias)
        if options["plan"] or not (statements or options["presplit"]):
            self._show_commands(statements, options)
            return
        if not all(sharding.is_mongos(alias) for alias in mongodb_aliases()):
            raise CommandError(
                "This server is not a mongos, so nothing was sharded. Set MONGODB_URI to a mongos "
                "and run this command again."
            )
        if statements:
            self._apply(statements)
        if options["presplit"]:
            self._presplit(options)

    def _show_commands(self, statements: list[sharding.Statement], options: dict[str, Any]) -> None:
        """Show the plan as mongosh commands."""
        lines = [line for statement in statements for line in statement.mongosh()]
        if options["presplit"]:
            lines += [step.mongosh() for step in self._ranges(options).steps]
        if lines:
            self.stdout.write(
                "\nTo do the same manually, run manage.py setup_indexes, then these commands in mongosh on a mongos:\n"
            )
        for line in lines:
            self.stdout.write(line)
        self.stdout.write(f"\n{len(lines)} commands for mongos." if lines else "Nothing to do.")

    def _ranges(self, options: dict[str, Any]) -> ranges.Presplit:
        """Return the plan for splitting and moving ranges, and report ranges that won't be moved.

        This method can raise CommandError.
        """
        try:
            presplit_plan = ranges.presplit(options["presplit"], zones=options["zones"], shards=options["shard"])
        except sharding.CannotShard as error:
            raise CommandError(str(error)) from error
        for name, count in presplit_plan.not_moved.items():
            why = "contain data or are already split further, and are kept"
            self.stdout.write(f"= {name}: {count} ranges {why}")
        return presplit_plan

    def _presplit(self, options: dict[str, Any]) -> None:
        steps = self._ranges(options).steps
        for number, step in enumerate(steps, 1):
            try:
                ranges.apply(step)
            except sharding.CannotShard as error:
                raise CommandError(
                    f"{error} ({number - 1} of {len(steps)} done. Run the command again to resume.)"
                ) from error
        self.stdout.write(self.style.SUCCESS(f"{len(steps)} splits and moves made."))

    def _show_broadcasts(self, alias: str) -> None:
        """Show the queries that are sent to every shard.

        For each, show the declared reason, or a note that there is none.
        """
        collections = [item.collection for item in mongodb_collections(alias)]
        for query, collection, find in queries.build_queries(database(alias), collections):
            if queries.asks_every_shard(find, collection):
                reason = query.broadcast_because or "No reason is given. Add the shard key to its filter."
                self.stdout.write(f"! {collection.name}: “{query.name}” queries every shard  {reason}")
        for broadcast in targeting.broadcasts():
            if broadcast.collection in {collection.name for collection in collections}:
                paths = ", ".join(broadcast.paths) or "nothing"
                self.stdout.write(f"! {broadcast.collection}: queries by {paths} go to every shard  {broadcast.reason}")

    def _apply(self, statements: list[sharding.Statement]) -> None:
        try:
            indexes.ensure(self.stdout.write)
        except indexes.CannotBuild as error:
            raise CommandError(str(error)) from error
        for number, statement in enumerate(statements, 1):
            self.stdout.write(f"{number}/{len(statements)} {statement}")
            try:
                sharding.apply(statement)
            except sharding.CannotShard as error:
                raise CommandError(
                    f"{error} ({number - 1} of {len(statements)} done. Run the command again to resume.)"
                ) from error
        self.stdout.write(self.style.SUCCESS(f"{len(statements)} statements applied."))

    def _show(self, alias: str) -> None:
        if not sharding.is_mongos(alias):
            self.stdout.write(f"{alias}: not a mongos, so nothing is sharded.")
            return
        rows = sharding.distribution(alias)
        for row in rows:
            key = ", ".join(f"{path} {way}" for path, way in row.key.items())
            self.stdout.write(f"{row.collection}  ({key}){'  unique' if row.unique else ''}")
            for shard, chunks in sorted(row.chunks.items()):
                self.stdout.write(f"  {shard}: {chunks} chunks, {row.size.get(shard, 0) / 1_048_576:,.1f} MiB")
        self.stdout.write(f"{len(rows)} collections are sharded.")
