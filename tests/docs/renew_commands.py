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
# Django's own commands with other exit codes or without some of their work: described, without their options.
CHANGED = {
    "check": "Exits with code 2 if a database can't be reached. With `--deploy`, also checks settings of public sites.",
    "dumpdata": "Leaves comments out. Use `export_comments` for them.",
    "makemigrations": "Works without a running database on a local site.",
}
# Meaning of exit code 1, for commands that have it.
PROBLEMS = {
    "check_comments": "problems remain",
    "check_links": "a page refers to something that readers can't see",
    "check_nodes": "problems remain",
    "check_theme": "the theme has faults",
    "convert_comments": "a discussion couldn't be converted",
    "doctor": "there are errors, or findings of the level in `--fail-on`",
    "export_site": "a document couldn't be read and was left out",
    "import_photos": "a file was refused",
    "import_site": "something was left as it was, or differs from the archive",
    "import_wordpress": "a post or page couldn't be imported",
    "setup_indexes": "an index couldn't be built, `--check` found documents, or `--plan --exit-code` found changes",
    "upgrade_nodes": "a page couldn't be upgraded",
    "work": "`--failed` listed jobs",
}
HEAD = """# Management commands

<!-- Written by `python -m tests.docs.renew_commands`. Don't edit it. -->

Run a command as `.venv/bin/python manage.py NAME`, as the user who runs the site.
The option `--help` prints the same.

| Exit code | Meaning |
|---|---|
| 0 | The command did its work and found no problems. |
| 1 | It found or left problems. Each command below lists them. |
| 2 | It couldn't do its work: wrong options or settings, or no database. |
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
    described = described.replace("%(default)s (PORT)", "the variable PORT").replace("%(default)s", str(action.default))
    required = ", required" if name and action.required else ""
    return f"`{shown}`".replace("|", r"\|"), (described + required).replace("|", r"\|")


def present() -> str:
    """Return the page as the parsers describe the commands now."""
    listed = commands()
    own = {name: said for name, said in listed.items() if name not in CHANGED}
    lines = [HEAD + "## Overview\n", "| Command | Purpose |", "|---|---|"]
    for name, (purpose, _actions) in own.items():
        first = purpose.partition(". ")[0].rstrip(".")
        lines.append(f"| [`{name}`](#{name}) | {first}. |")
    for name, (purpose, actions) in own.items():
        lines += ["", f"## {name}", "", purpose, ""]
        if actions:
            lines += ["| Option | Meaning |", "|---|---|"]
            lines += [f"| {shown} | {described} |" for shown, described in map(option, actions)]
            lines.append("")
        codes = f"0, 1 ({PROBLEMS[name]}), 2" if name in PROBLEMS else "0, 2"
        lines.append(f"Exit codes: {codes}{', 130' if name == 'import_wordpress' else ''}.")
    lines += ["", "## Commands of Django that differ", "", "| Command | Difference |", "|---|---|"]
    lines += [f"| [`{name}`]({DJANGO}#{name}) | {difference} |" for name, difference in CHANGED.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    PAGE.write_text(present())
