"""`make mutants`: guards are taken out one by one, in a copy of the code, and the test that is named for each must fail.

A guard whose absence no test notices is a promise that nobody keeps: the table then says `survives`, and the exit code is 1.
Where a guard's code is not what stands here any more, nothing can be said of it: that fails too, until this table follows.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.support.throwaway import EphemeralMongod

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "__pycache__", "*_cache", ".hypothesis", "node_modules", "images"
)
# Seconds that a test may take once its guard is gone: it may hang instead of failing, which is noticed as well.
PATIENCE = 120
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """A guard: the file that has it, its code, what stands there without it, and the test that must notice."""

    guard: str
    file: str
    code: str
    without: str
    test: str


MUTANTS = (
    Mutant(
        "downloads from the old site's own host alone",
        "wordpress/media/download.py",
        "        if host_of(url) not in self.hosts or parts.port not in self.ports:\n",
        "        if parts.port not in self.ports:\n",
        "tests/wordpress/media/test_download.py::TestFetching::test_redirects_stay_on_the_host",
    ),
    Mutant(
        "no download from a private network",
        "wordpress/media/download.py",
        "        if not self.private and not all(ip_address(address).is_global for address in addresses):\n",
        "        if not addresses:\n",
        "tests/wordpress/media/test_download.py::TestFetching::test_a_private_network_is_not_asked_unless_it_is_allowed",
    ),
    Mutant(
        "old addresses of what is live alone",
        "wordpress/views.py",
        "    node = selectors.live_by_id(tree.current(), node_id, now()) if node_id else None\n",
        "    node = selectors.get(node_id) if node_id else None\n",
        "tests/wordpress/test_old_addresses.py::test_what_readers_may_not_see_is_as_any_wrong_address",
    ),
    Mutant(
        "no redirect of the admin to any object",
        "cms/admin_site.py",
        '        checked = [route for route in super().get_urls() if getattr(route, "name", "") != "view_on_site"]\n',
        "        checked = super().get_urls()\n",
        "tests/rights/test_admin.py::test_staff_are_not_led_to_what_they_may_not_see",
    ),
    Mutant(
        "nonce in the filter",
        "nodes/types.py",
        '            "metadata.nonce": self.nonce,\n',
        "",
        "tests/nodes/test_races.py::test_of_64_saves_of_one_nonce_one_wins_each_round",
    ),
    Mutant(
        "merge base",
        "nodes/services/editing.py",
        "                base, tags = base_for(node_id, seen_nonce, present, form, tags)\n",
        "                pass\n",
        "tests/nodes/test_races.py::test_eight_editors_of_other_fields_and_paragraphs_all_survive",
    ),
    Mutant(
        "version after write",
        "nodes/services/editing.py",
        "        if nonce := write(actor, stored, merge.changes, tags, submitted=submitted):\n            touch()\n",
        "        touch()\n        if nonce := write(actor, stored, merge.changes, tags, submitted=submitted):\n",
        "tests/cms/test_page_cache.py::test_readers_between_any_two_commands_of_a_save_leave_nothing_stale",
    ),
    Mutant(
        "type check",
        "nodes/services/write.py",
        "    if not may_hold(parent.type if parent else None, type):\n",
        "    if False:\n",
        "tests/nodes/test_editing.py::test_parent_of_the_wrong_type_is_refused",
    ),
    Mutant(
        "type of a picture, by its bytes",
        "nodes/assets/formats.py",
        "    if found is None:\n        raise BadPicture(_reason(head))\n",
        "    found = found or JPEG\n",
        "tests/nodes/assets/test_uploads.py::test_a_bad_file_is_refused_with_a_reason_and_leaves_nothing",
    ),
    Mutant(
        "lock in the replacing update",
        "nodes/services/photos.py",
        'still = {"metadata.locked": lock.moment} | (',
        "still = {} | (",
        "tests/faults/test_photo_crashes.py::test_a_lock_lost_between_the_look_and_the_write_replaces_nothing",
    ),
    Mutant(
        "threads that wait for copies",
        "nodes/assets/renditions.py",
        "_turns = threading.BoundedSemaphore(AT_ONCE)\n",
        "_turns = threading.BoundedSemaphore(1000)\n",
        "tests/nodes/test_photo_files.py::test_fifty_who_ask_for_copies_that_are_not_made_hold_up_no_reader",
    ),
    Mutant(
        "claim",
        "comments/backends/claims.py",
        '    is_new = {"$not": [{"$in": [{"$literal": intent.op}, "$claims.op"]}]}\n',
        '    is_new = {"$literal": True}\n',
        "tests/comments/test_claims.py::test_the_same_form_gets_the_same_place_while_it_is_in_flight",
    ),
    Mutant(
        "look",
        "comments/backends/posting.py",
        "            looked = self._look(claim, new.parent)\n",
        "            looked = Looked({})\n",
        "tests/comments/test_interruptions.py",
    ),
    Mutant(
        "slug guard of posting, in buckets",
        "comments/backends/buckets.py",
        '"page": page, "comments.slug": {"$ne": slug}, **condition}',
        '"page": page, **condition}',
        "tests/comments/test_races.py::test_every_token_is_posted_once",
    ),
    Mutant(
        "slug guard of posting, embedded",
        "comments/backends/embedded.py",
        '                        "comments.slug": {"$ne": slug},\n',
        "",
        "tests/comments/test_races.py::test_every_token_is_posted_once",
    ),
    Mutant(
        "number in the commit's filter",
        "comments/backends/claims.py",
        'return {"op": self.op, "number": Int64(self.number or 0)}',
        'return {"op": self.op}',
        "tests/comments/test_claims.py::test_the_same_form_gets_the_same_place_while_it_is_in_flight",
    ),
    Mutant(
        "empty lists in the switch",
        "comments/backends/attempt.py",
        '{**self._mine(), "epoch": self.source.epoch, "claims": [], "touched": []}',
        '{**self._mine(), "epoch": self.source.epoch}',
        "tests/comments/test_conversion.py::test_switch_waits_for_who_writes_and_for_what_was_touched",
    ),
    Mutant(
        "bound of what is to be copied again",
        "comments/backends/claims.py",
        '[HAS_ROOM, GATE_IS_OPEN, {_last_touched(): {"$exists": False}}]',
        "[HAS_ROOM, GATE_IS_OPEN]",
        "tests/comments/test_takeovers.py::test_writers_wait_while_too_much_is_to_be_copied_again",
    ),
    Mutant(
        "second look of a converter",
        "comments/backends/attempt.py",
        "passed it over.\n            there = to.look(self.to, slugs)\n",
        "passed it over.\n            there = Looked({**there.found, **{one['slug']: one for one in missing}})\n",
        "tests/comments/test_takeovers.py::test_what_a_relieved_converter_copies_late_is_raised",
    ),
    Mutant(
        "numbering in what a converter takes over",
        "comments/backends/attempt.py",
        '                {"$ne": ["$moving.renumber", True]},\n',
        "",
        "tests/comments/test_takeovers.py::test_numbering_that_was_broken_off_is_not_gone_on_with_as_a_move",
    ),
    Mutant(
        "moving discussion at a lost claim",
        "comments/backends/posting.py",
        'if discussion and discussion["moving"] is None else None',
        "if discussion else None",
        "tests/comments/test_conversion.py::test_write_whose_claim_is_gone_is_not_passed_by",
    ),
    Mutant(
        "second look of an erasure",
        "comments/backends/across.py",
        "        erased += self._blank(changing, query)\n",
        "",
        "tests/comments/test_erasing.py::test_what_is_restored_and_published_after_it_was_looked_for",
    ),
    Mutant(
        "HTML cleaning",
        "markup/html.py",
        "rules.cleaner.clean(Balancer(rules.tags, renamed, images=rules.images).balance(html)).strip()",
        "html.strip()",
        "tests/markup/test_payloads.py::test_only_what_is_allowed_comes_out",
    ),
    Mutant(
        "links count in the parser's limit",
        "markup/limits.py",
        "    return counted + LINK_MARKS * len(_LINKS.findall(source))\n",
        "    return counted\n",
        "tests/markup/test_limits.py::test_a_megabyte_of_marks_is_shown_as_it_was_typed",
    ),
    Mutant(
        "bound of tags",
        "markup/balance.py",
        "        if self._started >= MOST_TAGS:\n",
        "        if False:\n",
        "tests/markup/test_limits.py::test_tags_beyond_the_bound_are_left_out_and_the_text_stays",
    ),
    Mutant(
        "budget of a merge",
        "markup/diff.py",
        "    if not budget.take(words_compared",
        "    if False and not budget.take(words_compared",
        "tests/markup/test_limits.py::test_becoming_takes_its_comparisons_from_the_budget",
    ),
    Mutant(
        "bound of a text",
        "nodes/services/editing.py",
        "    check_lengths(fields)\n",
        "",
        "tests/nodes/test_text_bounds.py",
    ),
    Mutant(
        "bound of what two texts merge to",
        "nodes/services/write.py",
        "    check_lengths(changes)\n",
        "",
        "tests/nodes/test_text_bounds.py",
    ),
    Mutant(
        "rate of previews",
        "nodes/admin/writing.py",
        "    if not _may_preview(request.user, text):\n",
        "    if False:\n",
        "tests/nodes/admin/test_writing.py",
    ),
    Mutant(
        "CSRF",
        "cms/settings.py",
        '    "django.middleware.csrf.CsrfViewMiddleware",\n',
        "",
        "tests/cms/test_transport.py::test_no_form_is_taken_without_its_token",
    ),
    Mutant(
        "access function",
        "nodes/access.py",
        "    if found is None or not allowed(user, found.node, Action.VIEW):\n",
        "    if found is None:\n",
        "tests/nodes/admin/test_rights.py::test_stranger_to_a_node_gets_404_everywhere",
    ),
    Mutant(
        "live in readers' queries",
        "nodes/selectors/listing.py",
        'return {"metadata.published": {"$lte": moment}, "metadata.expires": {"$gt": moment}}',
        'return {"metadata.published": {"$lte": moment}}',
        "tests/rights/test_leaks.py",
    ),
    Mutant(
        "rate limit",
        "mongo/rate_limit.py",
        '{"$lt": [{"$size": "$passed"}, limit]}',
        '{"$lt": [{"$size": "$passed"}, 1_000_000]}',
        "tests/comments/test_spam.py::test_rate_limit_holds_over_forms_and_keeps_the_text",
    ),
    Mutant(
        "throttled log-in",
        "cms/settings.py",
        '    "axes.backends.AxesStandaloneBackend",\n',
        "",
        "tests/cms/test_throttling.py",
    ),
    Mutant(
        "reset mail by the job queue",
        "cms/accounts.py",
        "    form_class = QueuedResetForm\n",
        "",
        "tests/cms/test_password_reset.py::test_request_does_the_same_work_whether_the_account_exists_or_not",
    ),
    Mutant(
        "site's own address in a public site",
        "cms/settings.py",
        "    if not SITE_URL:\n",
        "    if False:\n",
        "tests/cms/test_environment.py::test_unfit_production_settings_are_refused",
    ),
    Mutant(
        "no mail to a public site's log",
        "cms/environment.py",
        "    if not console and ",
        "    if False and ",
        "tests/cms/test_environment.py::test_unfit_production_settings_are_refused",
    ),
    Mutant(
        "honeypot",
        "comments/spam.py",
        "    if submission.trap:\n",
        "    if False:\n",
        "tests/comments/test_spam.py::test_trap_minds_who_fills_in_what_people_do_not_see",
    ),
    Mutant(
        "text in the token of an edit",
        "comments/services.py",
        "html=new.html, rev=rev, token=new.said, by=by)",
        "html=new.html, rev=rev, token=token, by=by)",
        "tests/comments/test_tokens.py::test_one_token_with_two_texts_edits_once",
    ),
    Mutant(
        "text in the token of a post",
        "comments/services.py",
        "    if found.said and found.said != said(token, source):\n",
        "    if False:\n",
        "tests/comments/test_tokens.py::test_one_token_with_two_texts_posts_the_first_and_refuses_the_second",
    ),
    Mutant(
        "password of the embedded MongoDB",
        "local/mongod.py",
        "        if self.key:  # without the bypass's end",
        "        if False:  #",
        "tests/local/test_embedded.py::test_who_does_not_know_the_password_reads_nothing_and_makes_no_user",
    ),
    Mutant(
        "visible objects alone are discussed",
        "comments/targets.py",
        "    found = (obj for model, keys in by_model.items() for obj in _registered[model](keys))\n",
        "    found = (obj for model, keys in by_model.items() for obj in model._default_manager.filter(pk__in=keys))\n",
        "tests/comments/test_targets.py::test_what_readers_may_not_see_is_404_everywhere",
    ),
    Mutant(
        "registered models alone are discussed",
        "comments/targets.py",
        "    if label not in {model._meta.label_lower for model in _registered}:\n",
        "    if False:\n",
        "tests/comments/test_targets.py::test_tags_say_what_is_to_be_done_for_a_model_that_is_not_registered",
    ),
    Mutant(
        "job lease",
        "mongo/jobs.py",
        '{"state": state, "due": {"$lte": moment}}',
        '{"state": state}',
        "tests/mongo/test_jobs.py::test_job_of_a_worker_that_died_is_taken_after_its_lease_and_not_before",
    ),
    Mutant(
        "no path from a header",
        "cms/gunicorn_conf.py",
        'forwarder_headers = ""\nforwarded_allow_ips = ""\n',
        "",
        "tests/cms/test_servers.py::test_no_header_moves_the_site_to_another_path",
    ),
    Mutant(
        "no path from the environment",
        "cms/settings.py",
        'FORCE_SCRIPT_NAME = ""\n',
        "",
        "tests/cms/test_transport.py::test_no_request_moves_the_site_to_another_path",
    ),
    Mutant(
        "nothing kept under a prefix",
        "cms/page_cache.py",
        '    if request.META.get("SCRIPT_NAME"):\n        return None\n',
        "",
        "tests/cms/test_page_cache.py::test_what_is_made_under_a_prefix_is_not_kept",
    ),
    Mutant(
        "no thread for a slow sender",
        "cms/gunicorn_conf.py",
        '{"waitress": "cms.workers.Buffering",',
        '{"waitress": "cms.workers.Threaded",',
        "tests/cms/test_servers.py::test_200_slow_senders_keep_no_reader_waiting",
    ),
    Mutant(
        "room for readers",
        "cms/receiving.py",
        "        if number < CONNECTIONS and size <= UNFINISHED_BYTES:\n            break\n",
        "        break\n",
        "tests/cms/test_servers.py::test_what_waits_for_longest_gives_way_to_readers",
    ),
    Mutant(
        "deadlines of senders",
        "cms/receiving.py",
        "        if channel.is_late(now):\n",
        "        if False:\n",
        "tests/cms/test_receiving.py::test_connections_that_are_late_are_closed",
    ),
    Mutant(
        "one length for a body",
        "cms/receiving.py",
        '        if self.chunked and "CONTENT_LENGTH" in self.headers:\n',
        "        if False:\n",
        "tests/cms/test_servers.py::test_a_request_with_two_lengths_is_refused",
    ),
)


class Outdated(Exception):
    """The code that a mutant takes out is not there, or not there once."""


def taken_out(mutant: Mutant, source: str) -> str:
    """Return a file's text without the guard. Raises Outdated."""
    if source.count(mutant.code) != 1:
        raise Outdated(
            f"{mutant.file} has the code of “{mutant.guard}” {source.count(mutant.code)} times: adapt {__file__}"
        )
    return source.replace(mutant.code, mutant.without)


class Copy:
    """A copy of the code in which guards are missing for a while, and a test database of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.root = folder / name
        shutil.copytree(ROOT, self.root, ignore=NOT_COPIED)
        self._environment = {**os.environ, "TEST_MONGODB_NAME": f"test_{name}", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests until one fails; return pytest's exit code (FAILED also where it hangs) and what it said."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE * len(tests),
            )
        except subprocess.TimeoutExpired:
            return FAILED, "it did not end"
        return done.returncode, done.stdout + done.stderr

    def without(self, mutant: Mutant) -> tuple[int, str]:
        """Run the mutant's test with its guard missing."""
        file = self.root / mutant.file
        source = file.read_text()
        file.write_text(taken_out(mutant, source))
        try:
            return self.run([mutant.test])
        finally:
            file.write_text(source)


def judge(mutants: Sequence[Mutant], copies: int) -> bool:
    """Print a line for each mutant; return whether all were noticed. Raises Outdated."""
    for mutant in mutants:
        taken_out(mutant, (ROOT / mutant.file).read_text())
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(copies):
            free.put(Copy(Path(folder), f"mutants{number}"))
        first = free.get()
        code, said = first.run(sorted({mutant.test for mutant in mutants}))
        free.put(first)
        if code != PASSED:
            say(f"{said}\nThe tests must pass before anything is taken out.")
            return False

        def one(mutant: Mutant) -> bool:
            copy, began = free.get(), time.monotonic()
            try:
                code, said = copy.without(mutant)
            finally:
                free.put(copy)
            verdict = {PASSED: "survives", FAILED: "noticed"}.get(code, f"pytest ended with {code}")
            say(f"{mutant.guard:34} {verdict:10} {time.monotonic() - began:5.1f} s  {mutant.test}")
            if code not in (PASSED, FAILED):
                say(said)
            return code == FAILED

        with ThreadPoolExecutor(copies) as pool:
            noticed = list(pool.map(one, mutants))
    say(f"{sum(noticed)} of {len(noticed)} missing guards were noticed.")
    return all(noticed)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Take guards out one by one: the test named for each must fail.")
    parser.add_argument("guards", nargs="*", help="parts of the names of guards; all without any")
    parser.add_argument("--copies", type=int, default=min(2, os.cpu_count() or 1), help="how many at once")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.guards or any(part in m.guard for part in options.guards)]
    server = None
    if "TEST_MONGODB_URI" not in os.environ:
        server = EphemeralMongod()
        os.environ["TEST_MONGODB_URI"] = server.start()
    try:
        return 0 if chosen and judge(chosen, options.copies) else 1
    except Outdated as error:
        say(str(error))
        return 1
    finally:
        if server:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
