"""docs/how-to/deploy-on-one-server.md agrees with deploy/ and with the larger guide."""

import secrets

import yaml

from tests.docs.pages import DEPLOY, blocks, commands_of, tried
from tests.support.site_settings import documented, run_python

NAME = "deploy-on-one-server.md"
TEXTS = [block.text for block in blocks(NAME)]


def test_settings_of_the_guide_pass_the_deployment_check(tmp_path):
    [written] = [text for text in TEXTS if "SITE_URL" in text]
    environment = dict(line.split("=", 1) for line in written.splitlines())
    assert environment.keys() <= documented().keys()
    environment |= {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "VAR_DIR": str(tmp_path),
        "MONGODB_CONNECT_TIMEOUT_MS": "100",
    }
    answer = run_python(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr


def test_database_user_is_the_same_as_in_the_larger_guide():
    sent = [one for text in TEXTS for one in commands_of(text)]
    larger = [one for block in tried("deploy.md", "js") for one in commands_of(block.text)]
    assert sent[1:3] == larger[1:3]
    [conf] = [yaml.safe_load(text) for text in TEXTS if text.startswith("storage:")]
    assert conf["replication"]["replSetName"] == sent[0]["replSetInitiate"]["_id"]


def test_copied_files_exist():
    copied = {word for text in TEXTS for word in text.split() if word.startswith("deploy/")}
    assert len(copied) == 5
    for path in copied:
        assert (DEPLOY.parent / path).is_file(), path
