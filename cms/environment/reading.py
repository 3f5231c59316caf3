"""Read and validate the environment variables and the `.env` file."""

import difflib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured
from pydantic import ValidationError

from cms.environment.table import Environment

# If an unknown variable is at least this similar to a setting (difflib's ratio), it is reported as a misspelling.
SIMILARITY = 0.87

# Error messages, keyed by pydantic's error type. Each message is appended to the variable's name. Errors raised in
# values.py contain their own messages.
_MESSAGES = {
    "int_parsing": "must be a whole number, not {input!r}",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number, not {input!r}",
    "bool_parsing": "must be on or off, not {input!r}",
    "greater_than_equal": "must be {ge} or more, not {input}",
    "less_than_equal": "must be {le} or less, not {input}",
    "literal_error": "must be {expected}, not {input!r}",
    "value_error": "{error}",
}


def read_environment(file: Path) -> Environment:
    """Add the variables in a file to the environment, and return all settings.

    Raises:
        ImproperlyConfigured: A value is invalid. The message describes every problem on its own line.
    """
    problems = []
    if file.is_file():
        problems += _load_file(file)
    problems += misspelled(os.environ)
    variables = {name: os.environ.get(name, "").strip() for name in Environment.model_fields}
    try:
        environment = Environment.model_validate({name: value for name, value in variables.items() if value})
    except ValidationError as error:
        problems += _messages(error)
    else:
        problems += environment.contradictions()
        if not environment.is_local and file.is_file() and file.stat().st_mode & stat.S_IROTH:
            problems.append(f"{file} can be read by every user of this machine. Run chmod 600 {file}.")
        if not problems:
            return environment
    raise ImproperlyConfigured("\n".join(problems))


def _load_file(file: Path) -> list[str]:
    """Add the variables in a file to the environment, unless they are already set.

    Return a message for each malformed line.

    Raises:
        ImproperlyConfigured: The file can't be read. If such a file were ignored, a public site would silently
            become a local one.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{file} can't be read: {error}.") from error
    environ.Env.read_env(io.StringIO(text))
    return [  # the messages contain only line numbers, because a line may contain a password
        f"{file} has an invalid line {number}. Write NAME=value."
        for number, line in enumerate(text.splitlines(), 1)
        if not re.match(r"(export )?\w+=|\s*(#.*)?$", line, re.ASCII)
    ]


def misspelled(names: Iterable[str]) -> Iterator[str]:
    """Yield a message for each name that isn't a setting but is similar to one."""
    settings = list(Environment.model_fields)
    for name in names:
        if name not in settings and (matches := difflib.get_close_matches(name.upper(), settings, 1, SIMILARITY)):
            yield f"{name} is not a setting. Did you mean {matches[0]}?"


def _messages(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False):
        text = _MESSAGES.get(item["type"], item["msg"])
        context: Mapping[str, object] = item.get("ctx", {})
        yield f"{item['loc'][0]} {text.format(input=item['input'], **context)}."
