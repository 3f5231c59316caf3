"""docs/reference/commands.md: the commands, their options and exit codes as the parsers have them."""

from tests.docs.renew_commands import CHANGED, PAGE, PROBLEMS, ROOT, commands, present

RENEW = "python -m tests.docs.renew_commands"


def test_reference_of_commands_is_current():
    assert PAGE.read_text() == present(), f"A command has changed. Renew the page: {RENEW}"


def test_every_command_that_exits_with_1_documents_why():
    own = set(commands())
    files = [
        path
        for folder in ROOT.iterdir()
        for path in folder.glob("**/management/commands/*.py")
        if folder.name[0] != "."
    ]
    raising = {path.stem for path in files if "problems_error(" in path.read_text()}
    assert raising - set(CHANGED) == set(PROBLEMS)
    assert set(CHANGED) <= own
