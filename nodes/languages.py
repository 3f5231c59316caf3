"""The languages in which a page can be written."""

from typing import Any, Final

from django.conf.locale import LANG_INFO
from django.utils.text import capfirst

# The names of the languages in these languages, keyed by code. The other codes in LANG_INFO are only alternatives.
NAMES: Final = {code: capfirst(info["name_local"]) for code, info in LANG_INFO.items() if "name_local" in info}
CHOICES: Final = sorted(NAMES.items(), key=lambda choice: choice[1])


def known(code: Any) -> str:
    """Return `code` if it is the code of a language, otherwise "". Other apps can store other values in `language`."""
    return code if isinstance(code, str) and code in NAMES else ""


def direction(code: str) -> str:
    """Return the direction in which a language is written: "rtl" or "ltr"."""
    info = LANG_INFO.get(code) or LANG_INFO.get(code.partition("-")[0]) or {}
    return "rtl" if info.get("bidi") else "ltr"
