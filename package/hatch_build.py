"""Add the dependencies in the repository's requirement files to the package's metadata."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# The packages that a site's tests and type checks use. They have the same versions as in Marginalia's own tests.
TEST = {"pytest", "pytest-django", "factory-boy", "hypothesis", "mypy"}
# Marginalia is tested with two series of Django, each with its own series of the database backend. Pip chooses the
# newest series that supports the interpreter.
TWO_SERIES = {"Django", "django-mongodb-backend"}
NEXT_UNTESTED = "6.2"


class DependenciesHook(MetadataHookInterface):
    """A hook for packages that are built from the repository or from their source distribution."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies, including the same version of django-marginalia, and the extras `mongod` and `test`."""
        direct = [self._range(pin) for pin in self._pins("requirements.txt", until="# needed by those above")]
        metadata["dependencies"] = [f"django-marginalia=={metadata['version']}", *direct]
        test = [pin for pin in self._pins("requirements-dev.txt") if pin.partition("==")[0] in TEST]
        metadata["optional-dependencies"] = {"mongod": self._pins("requirements-mongod.txt"), "test": test}

    def _range(self, pin: str) -> str:
        # Sites can install later patch releases, such as security fixes, without waiting for a release of Marginalia.
        name, _, version = pin.partition("==")
        return f"{name}>={version},<{NEXT_UNTESTED}" if name in TWO_SERIES else f"{name}~={version}"

    def _pins(self, name: str, until: str | None = None) -> list[str]:
        folder = next(path for path in (Path(self.root), Path(self.root).parent) if (path / name).is_file())
        text = (folder / name).read_text(encoding="utf-8")
        lines = (line.partition("#")[0].strip() for line in text.split(until or "\0")[0].splitlines())
        return [line for line in lines if line and not line.startswith("-")]
