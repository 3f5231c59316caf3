"""Reads the environment, and `.env`, by the table of settings."""

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

# How alike a name and the nearest one of the table are for the first to be a misspelling (difflib's ratio).
ALIKE = 0.87

# The rest of a sentence, by pydantic's type of error. Others, which the kinds of values raise, bring their own.
_SENTENCES = {
    "int_parsing": "must be a whole number, not {input!r}",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number, not {input!r}",
    "bool_parsing": "must be on or off, not {input!r}",
    "greater_than_equal": "must be {ge} or more, not {input}",
    "less_than_equal": "must be {le} or less, not {input}",
    "literal_error": "must be {expected}, not {input!r}",
    "value_error": "{error}",
}


def read(file: Path) -> Environment:
    """Return all settings, by the environment and a file of variables, which are put into the environment.

    Raises ImproperlyConfigured with a sentence a line for everything that is wrong.
    """
    problems = []
    if file.is_file():
        problems += _load(file)
    problems += misspelled(os.environ)
    known = {name: os.environ.get(name, "").strip() for name in Environment.model_fields}
    try:
        found = Environment.model_validate({name: value for name, value in known.items() if value})
    except ValidationError as error:
        problems += _sentences(error)
    else:
        problems += found.contradictions()
        if not found.is_local and file.is_file() and file.stat().st_mode & stat.S_IROTH:
            problems.append(f"{file} can be read by every user of this machine. Run chmod 600 {file}.")
        if not problems:
            return found
    raise ImproperlyConfigured("\n".join(problems))


def _load(file: Path) -> list[str]:
    """Put the variables of a file into the environment, where they are not set; return a sentence for each line without one.

    Raises ImproperlyConfigured for a file that can't be read: without it a public site would be a local one.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{file} can't be read: {error}.") from error
    environ.Env.read_env(io.StringIO(text))
    return [  # by number, because a line may contain a password
        f"{file} has a line that is not NAME=value: line {number}."
        for number, line in enumerate(text.splitlines(), 1)
        if not re.match(r"(export )?\w+=|\s*(#.*)?$", line, re.ASCII)
    ]


def misspelled(names: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each name that is no setting, but nearly one."""
    known = list(Environment.model_fields)
    for name in names:
        if name not in known and (nearest := difflib.get_close_matches(name.upper(), known, 1, ALIKE)):
            yield f"{name} is not a setting. Did you mean {nearest[0]}?"


def _sentences(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False):
        text = _SENTENCES.get(item["type"], item["msg"])
        context: Mapping[str, object] = item.get("ctx", {})
        yield f"{item['loc'][0]} {text.format(input=item['input'], **context)}."
