"""`python -m tests.docs.renew_commands` writes docs/reference/commands.md from the commands' parsers."""

import os
from argparse import SUPPRESS, Action
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/commands.md"
DJANGO = "https://docs.djangoproject.com/en/5.2/ref/django-admin/"
# Options that every command has.
COMMON = {
    "help",
    "version",
    "verbosity",
    "settings",
    "pythonpath",
    "traceback",
    "no_color",
    "force_color",
    "skip_checks",
}
# Django's own commands that behave differently here. The page describes the difference, not their options.
CHANGED = {
    "check": (
        "With `--database default`, the command lists what an upgrade still needs, such as migrations, and exits with "
        "code 1 until everything is done. With `--deploy`, it also checks settings that matter on public sites."
    ),
    "dumpdata": "The command doesn't export comments. Use `export_comments` instead.",
    "makemigrations": "On a local site, the command works without a running database.",
    "shell": "The command also imports content types, `actions`, `System` and `database`.",
    "sendtestemail": "If the email server can't be used, the command prints the reason and exits with code 2.",
}
# When a command exits with code 1, for commands that do. The page shows this unless the help text mentions it.
PROBLEMS = {
    "check_comments": "problems remain",
    "check_links": "there are broken references",
    "check_nodes": "problems remain",
    "check_theme": "the theme has problems",
    "convert_comments": "a discussion couldn't be converted",
    "doctor": "there are errors, or findings of at least the level in `--fail-on`",
    "export_site": "a document couldn't be read and wasn't exported",
    "import_comments": "comments were left out",
    "import_photos": "a file was rejected",
    "import_site": "a document was skipped or differs from the archive",
    "import_wordpress": "a post or page couldn't be imported",
    "setup_indexes": (
        "an index can't be built, if `--check` finds invalid documents, or if `--plan --exit-code` finds changes"
    ),
    "upgrade_nodes": "a page couldn't be upgraded",
    "work": "`--failed` lists jobs",
}
HEAD = """# Management commands

<!-- Written by `python -m tests.docs.renew_commands`. Don't edit it. -->

To run a command, type `.venv/bin/python manage.py NAME` as the user that runs the site.
`--help` prints the description and the options of a command.

| Exit code | Meaning |
|---|---|
| 0 | The command succeeded and found no problems. |
| 1 | The command found problems, or couldn't process everything. The sections below explain when this happens. |
| 2 | The command couldn't run, for example because an option or a setting is invalid or the database isn't available. |
| 130 | `import_wordpress` was interrupted. Run it again to resume. |

Every command accepts Django's [common options](https://docs.djangoproject.com/en/5.2/ref/django-admin/#default-options),
such as `--verbosity 0`, which prints only errors.

"""


def commands() -> dict[str, tuple[str, list[Action]]]:
    """Return the help text and the parser's own actions for each command of the project, in alphabetical order."""
    from django.core.management import get_commands, load_command_class

    found = {}
    for name, app in sorted(get_commands().items()):
        command = load_command_class(app, name)
        if type(command).__module__.startswith(("cms.", "marginalia.", "nodes.", "photos.", "transfer.", "wordpress.")):
            actions = command.create_parser("manage.py", name)._actions
            found[name] = (command.help, [action for action in actions if action.dest not in COMMON])
    return found


def option(action: Action) -> tuple[str, str]:
    """Return an option's or argument's name with its value, and its help text."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    takes_value = action.nargs != 0
    name = ", ".join(action.option_strings)
    shown = f"{name} {value}" if name and takes_value else name or str(value)
    described = "" if action.help in (None, SUPPRESS) else str(action.help)
    # Defaults come from the environment, so the page names the variable only.
    described = described.replace("%(default)s, from PORT", "the value of `PORT`")
    described = described.replace("%(default)s", str(action.default))
    required = " (required)" if name and action.required else ""
    return f"`{shown}`".replace("|", r"\|"), (described + required).replace("|", r"\|")


def present() -> str:
    """Return the page as the parsers describe the commands now."""
    listed = commands()
    own = {name: said for name, said in listed.items() if name not in CHANGED}
    lines = [HEAD + "## Overview\n", "| Command | Purpose |", "|---|---|"]
    for name, (purpose, _actions) in own.items():
        first = purpose.partition(". ")[0].rstrip(".")
        lines.append(f"| [`{name}`](#{name}) | {first}. |")
    lines.append("")
    for name, (purpose, actions) in own.items():
        lines += [f"## {name}", "", purpose, ""]
        if actions:
            lines += ["| Option | Meaning |", "|---|---|"]
            lines += [f"| {shown} | {described} |" for shown, described in map(option, actions)]
            lines.append("")
        if name in PROBLEMS and "code 1" not in purpose:
            lines += [f"The command exits with code 1 if {PROBLEMS[name]}.", ""]
    lines += ["## Django commands that behave differently", "", "| Command | Difference |", "|---|---|"]
    lines += [f"| [`{name}`]({DJANGO}#{name}) | {difference} |" for name, difference in CHANGED.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    PAGE.write_text(present())
