"""Write without a pause while mongod and its guard are killed again and again; everything acknowledged must be there.

python -m benchmarks.soak --minutes 5
"""

import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo.embedded import Embedded
from mongo.keeper import Keeper

WRITERS = 4
BATCH = 10_000


def main() -> int:
    """Run the soak and print its counts; exit status 1 if an acknowledged document is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.minutes:g} minutes, {WRITERS} writers", flush=True)
    with tempfile.TemporaryDirectory(prefix="marginalia-soak-") as folder:
        server = Embedded(Path(folder))
        keeper = Keeper(server, server.acquire(), print)
        over = threading.Event()
        acknowledged: list[list[str]] = [[] for _ in range(WRITERS)]
        threads = [
            threading.Thread(target=_write, args=(keeper.state.uri, f"{number}-", noted, over))
            for number, noted in enumerate(acknowledged)
        ]
        for thread in threads:
            thread.start()
        kills = _kill_until(time.monotonic() + options.minutes * 60, keeper, server, random.Random(options.seed))
        over.set()
        for thread in threads:
            while thread.is_alive():
                keeper.look()
                thread.join(0.2)
        keys = list(itertools.chain.from_iterable(acknowledged))
        with MongoClient(keeper.state.uri) as client:
            found = sum(
                client.soak.kept.count_documents({"_id": {"$in": keys[start : start + BATCH]}})
                for start in range(0, len(keys), BATCH)
            )
        server.release()
    print(f"{kills} kills, {len(keys)} documents acknowledged, {len(keys) - found} of them missing")
    return 0 if found == len(keys) else 1


def _write(uri: str, prefix: str, acknowledged: list[str], over: threading.Event) -> None:
    with MongoClient(uri, timeoutMS=5000) as client:
        for number in itertools.count():
            if over.is_set():
                return
            with contextlib.suppress(PyMongoError):
                client.soak.kept.insert_one({"_id": f"{prefix}{number}"})
                acknowledged.append(f"{prefix}{number}")


def _kill_until(deadline: float, keeper: Keeper, server: Embedded, dice: random.Random) -> int:
    kills = 0
    due = time.monotonic() + 2
    while time.monotonic() < deadline:
        keeper.look()
        if time.monotonic() > due and (state := server.running()):
            os.kill(dice.choice([state.pid, state.guard]), signal.SIGKILL)
            kills += 1
            due = time.monotonic() + dice.uniform(1, 10)
        time.sleep(0.1)
    return kills


if __name__ == "__main__":
    sys.exit(main())
