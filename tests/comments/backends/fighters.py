"""One process of a race on a discussion: `python -m tests.comments.backends.fighters poster|converter DATABASE TARGET SEED`.

A poster runs 16 threads that send 160 tokens two to eight times each, and edit or remove some comments. It prints as JSON
the acknowledged comments, with the phase of the conversion in which each was sent. A converter converts the discussion back
and forth until its input ends, and prints how often.
"""

import json
import os
import random
import sys
import threading

import django

# Phases of a conversion, named after the steps in marginalia.comments.backends.upkeep.live, and the maximum tokens of a
# process.
PHASES = {"copy", "compare", "recopy_touched", "switch"}
MOST = 3_200


def main(role, name, target_id, seed):
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.db import connections

    connections.settings["default"]["NAME"] = name
    from marginalia.comments.types import Target

    told = {"poster": post, "converter": convert}[role](Target.parse(target_id), int(seed))
    sys.stdout.write(json.dumps(told) + "\n")


def post(target, seed):
    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.errors import EditConflict
    from tests.support.comments.making import new

    phases = MongoBackend().store.db.phases
    told = {"posted": {}, "edited": {}, "removed": [], "landed": {}}
    lock = threading.Lock()
    draw = random.Random(seed)
    # Neighbouring processes share tokens, so the same form is sent by two processes.
    tokens, thought_of = [], 0

    def more():
        """Create 160 tokens, and more until comments were posted in every phase of a conversion."""
        nonlocal thought_of
        found = phases.find_one({"_id": f"landed {target.id}"}) or {}
        if thought_of and (found.keys() >= PHASES or thought_of >= MOST):
            return False
        tokens.extend(f"{seed // 2} {thought_of + n}" for n in range(160) for _ in range(draw.randint(2, 8)))
        draw.shuffle(tokens)
        thought_of += 160
        return True

    def poster():
        backend = MongoBackend()
        while True:
            with lock:
                if not tokens and not more():
                    return
                token = tokens.pop()
            phase = phases.find_one({"_id": target.id}) or {"phase": "idle"}
            made = backend.post(target, new(token))
            with lock:
                told["posted"][token] = made.comment.slug
                if made.new:
                    told["landed"][phase["phase"]] = told["landed"].get(phase["phase"], 0) + 1
                    landed = {"$inc": {phase["phase"]: 1}}
                    phases.update_one({"_id": f"landed {target.id}"}, landed, upsert=True)
            if made.new and draw.random() < 0.3:
                try:
                    change(backend, made.comment, token)
                except EditConflict:
                    continue

    def change(backend, comment, token):
        if draw.random() < 0.3:
            backend.remove(target, comment.slug, rev=comment.rev, token=token)
            told["removed"].append(comment.slug)
        else:
            backend.edit(target, comment.slug, source="edited", html="", rev=comment.rev, token=token)
            told["edited"][comment.slug] = comment.rev + 1

    threads = [threading.Thread(target=poster) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def convert(target, seed):
    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.backends.upkeep.live import LiveConversion
    from marginalia.comments.errors import ConversionFailed
    from tests.support.comments.layouts import DOCUMENTS, FORMS

    phases = MongoBackend().store.db.phases

    present = ["idle"]

    def tell():
        phases.update_one({"_id": target.id}, {"$set": {"phase": present[-1]}}, upsert=True)

    def telling(name, work):
        def told(run, *args, **fields):
            present.append(name)
            tell()
            try:
                return work(run, *args, **fields)
            finally:
                present.pop()
                tell()

        return told

    for phase in PHASES:
        setattr(LiveConversion, phase, telling(phase, getattr(LiveConversion, phase)))

    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    draw, converted = random.Random(seed), 0
    while not ended.is_set():
        try:
            converted += MongoBackend().convert(target, *draw.choice([DOCUMENTS, *FORMS[3:]])) is not None
        except ConversionFailed:
            continue
    return converted


if __name__ == "__main__":
    main(*sys.argv[1:])
