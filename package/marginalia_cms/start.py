"""The command `marginalia start`, which creates a site."""

import argparse
import keyword
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import startproject

from marginalia_cms import PACKAGES, __version__

SITE = Path(__file__).parent / "site"
# Names of folders and modules that a site contains in addition to its package.
TAKEN = {"conftest", "deploy", "manage", "tests", "theme", "var"}


class Start(startproject.Command):
    """Django's startproject, with Marginalia's template."""

    def handle(self, **options: Any) -> None:
        """Create the site's files.

        Raises:
            CommandError: The name or the folder can't be used. Existing files were not changed.
        """
        if options["name"] in TAKEN or keyword.iskeyword(options["name"]):
            raise CommandError(f"A site's package can't have the name {options['name']}. Choose another name.")
        if existing := _existing_files(options["name"], Path(options["directory"] or options["name"])):
            names = ", ".join(map(str, existing))
            raise CommandError(f"The folder already contains {names}. Choose another folder. Nothing was written.")
        sys.path.append(str(PACKAGES))  # so that startproject rejects the names of Marginalia's packages
        super().handle(
            **options,
            template=str(SITE),
            extensions=["py", "toml", "txt", "md"],
            files=["Makefile", ".env"],
            exclude=[],
            verbosity=1,
            marginalia_version=__version__,
        )


def _existing_files(name: str, folder: Path) -> list[Path]:
    """Return the files in `folder` that the template would replace. Django notices them only after it has begun."""
    template = (
        path.relative_to(SITE) for path in SITE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    files = (Path(str(path).replace("project_name", name).replace(".py-tpl", ".py")) for path in template)
    return sorted(path for path in files if (folder.expanduser() / path).exists())


def main() -> None:
    """Run the command line `marginalia`."""
    parser = argparse.ArgumentParser(prog="marginalia", description="Create sites with Marginalia.")
    parser.add_argument("--version", action="version", version=f"Marginalia {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="create a site", description="Create a site with its own package.")
    start.add_argument("name", help="name of the site's Python package, such as mysite")
    start.add_argument("folder", nargs="?", help="existing folder for the site (default: a new folder with this name)")
    options = parser.parse_args()
    try:
        Start().handle(name=options.name, directory=options.folder)
    except CommandError as error:
        parser.exit(2, f"{error}\n")
    folder = Path(options.folder or options.name).resolve()
    enter = "" if folder == Path.cwd() else f"cd {options.folder or options.name} && "
    sys.stdout.write(
        f"Created the site in {folder}.\n  start it:  {enter}make run\n  test it:   {enter}make test\n"
        "Read README.md next.\n"
    )
