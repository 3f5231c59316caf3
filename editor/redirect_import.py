"""Import redirects from a CSV file with two columns: the old URL and the new URL.

The first request only checks the file, and shows each line that can't be imported. The second request sends the same
text again, and imports the other lines.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from editor.redirects import check_rights, show_form
from nodes.actions import AddRedirects
from nodes.redirects import normalized

# A file with this many lines is checked within a second. The page sends it again as a hidden field.
MOST_LINES = 1_000
MOST_BYTES = 500_000
# Maximum number of problems that the page lists.
SHOWN = 100


@dataclass(frozen=True)
class Line:
    """A line of the file. `problem` is the reason why it can't be imported, or ""."""

    number: int
    url: str
    target: str
    problem: str = ""


class ImportForm(forms.Form):
    """The form with a file or, in the second request, the text of the file."""

    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        required=False,
        help_text=gettext_lazy("Two columns: the old URL and the new URL. At most 1,000 lines."),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv,text/plain"}),
    )
    text = forms.CharField(required=False, strip=False, max_length=MOST_BYTES, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if file := data.get("file"):
            data["text"] = _decoded(file.read(MOST_BYTES + 1))
        if not data.get("text", "").strip() and not self.errors:
            raise ValidationError(_("Choose a CSV file of up to 500 KB."))
        return data


def _decoded(content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise ValidationError(_("This file is too large. Split it into files of up to 500 KB."))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError(_("This file isn't UTF-8 text. Save it as “CSV UTF-8” and try again.")) from error


# The CSRF check reads the form, so the upload handler must be set before it.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def import_csv(request: HttpRequest) -> HttpResponse:
    """Check a file of redirects, or import its lines if the file was checked before."""
    check_rights(request)
    request.upload_handlers = [MemoryFileUploadHandler(request)]
    return csrf_protect(_import)(request)


def _import(request: HttpRequest) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    title = _("Import redirects")
    if not form.is_bound or not form.is_valid():
        return show_form(request, "redirect_import", title, form=form, submit_label=_("Check file"))
    text = form.cleaned_data["text"]
    try:
        lines = list(_parse(text))
    except ValidationError as error:
        form.add_error("file", error)
        return show_form(request, "redirect_import", title, form=form, submit_label=_("Check file"))
    is_import = "import" in request.POST
    checked = _check(request.user, lines, saves=is_import)
    problems = [line for line in checked if line.problem]
    good = len(checked) - len(problems)
    if is_import:
        message = ngettext("%(n)d redirect was imported.", "%(n)d redirects were imported.", good) % {"n": good}
        messages.success(request, message)
        if not problems:
            return HttpResponseRedirect(reverse("admin:redirects"))
    return show_form(
        request,
        "redirect_import_check",
        title,
        form=form,
        text=text,
        is_import=is_import,
        problems=problems[:SHOWN],
        more=len(problems[SHOWN:]),
        bad=len(problems),
        good=good,
    )


def _parse(text: str) -> Iterator[Line]:
    """Yield the lines of a CSV file. A heading and empty lines are skipped.

    Raises:
        ValidationError: The file isn't CSV, or has too many lines.
    """
    first_line = text.lstrip().partition("\n")[0]
    delimiter = next((mark for mark in ("\t", ";") if mark in first_line and "," not in first_line), ",")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    count = 0
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            is_heading = reader.line_num == 1 and not any(cell.startswith(("/", "http")) for cell in cells)
            if is_heading or not any(cells):
                continue
            count += 1
            if count > MOST_LINES:
                raise ValidationError(_("This file has more than 1,000 lines. Split it into several files."))
            yield Line(reader.line_num, *((cells + ["", ""])[:2]))
    except csv.Error as error:
        reason = _("Line %(line)d can't be read: %(why)s") % {"line": reader.line_num, "why": error}
        raise ValidationError(reason) from error


def _check(user: Any, lines: list[Line], *, saves: bool) -> list[Line]:
    """Return the lines with their problems. If `saves` is true, store the redirects of the lines without a problem."""
    problems: dict[int, str] = {}
    first_lines: dict[str, int] = {}
    for line in lines:
        url = normalized(line.url)
        if url and url in first_lines:
            problems[line.number] = _("Line %(line)d already redirects this URL.") % {"line": first_lines[url]}
        elif not line.target:
            problems[line.number] = _("The new URL is missing.")
        first_lines.setdefault(url, line.number)
    rest = [line for line in lines if line.number not in problems]
    action = AddRedirects(user=user, redirects=[(line.url, line.target) for line in rest])
    reasons = action.execute() if saves else action.check()
    problems |= {line.number: reason for line, reason in zip(rest, reasons, strict=True)}
    return [replace(line, problem=problems[line.number]) for line in lines]
