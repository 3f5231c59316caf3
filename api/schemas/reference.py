"""The page that explains the API: its schema as a document to read, without a script."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from api import problems
from api.http.routing import Api
from api.schemas import openapi


@problems.only_read
def page(request: HttpRequest, api: Api) -> HttpResponse:
    """Show every operation with its parameters, every shape with its fields, and the problems."""
    schema = openapi.schema(api)
    context = {
        "operations": list(_operations(schema)),
        "shapes": list(_shapes(schema)),
        "problems": [
            {"kind": kind, "status": one[0], "meaning": _words(one[1])} for kind, one in problems.KINDS.items()
        ],
        "version": schema["info"]["version"],
    }
    return render(request, "api/reference.html", context)


def _operations(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            bodies = operation.get("requestBody", {}).get("content", {}).values()
            answers = [one.get("content", {}).values() for one in operation["responses"].values()]
            yield {
                "id": operation["operationId"],
                "method": method.upper(),
                "path": path,
                "summary": operation["summary"],
                "paragraphs": _paragraphs(operation.get("description", "")),
                "parameters": [
                    _described(one["name"], {**one, **one["schema"]}, is_needed=one.get("required", False))
                    for one in operation["parameters"]
                ],
                "body": next((_kind(one["schema"]) for one in bodies), None),
                "answer": next((_kind(one["schema"]) for answer in answers for one in answer), None),
                "needs_account": {} not in operation["security"],
            }


def _shapes(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    shapes = schema["components"]["schemas"]
    # What is answered is there anyway.
    sent = {one["body"]["shape"] for one in _operations(schema) if one["body"]}
    for name, shape in sorted(shapes.items()):
        needed = shape.get("required", ()) if name in sent else ()
        fields = [
            _described(field, said, is_needed=field in needed) for field, said in shape.get("properties", {}).items()
        ]
        yield {
            "name": name,
            "paragraphs": _paragraphs(shape.get("description", "")),
            "fields": fields,
            "kinds": _kinds(shape),
        }


def _described(name: str, said: Mapping[str, Any], *, is_needed: bool) -> dict[str, Any]:
    examples = said.get("examples") or []
    without = f"{said['default']} without it" if type(said.get("default")) is int else ""
    most = f"{said['maximum']} at most" if "maximum" in said else ""
    bounds = ", ".join(filter(None, (without, most)))
    return {
        "name": name,
        "kind": _kind(said),
        "description": _words(f"{said.get('description', '')} {bounds}{'.' if bounds else ''}".strip()),
        "example": examples[0] if examples and isinstance(examples[0], str) else "",
        "is_needed": is_needed,
    }


def _paragraphs(text: str) -> list[SafeString]:
    return [_words(" ".join(part.split())) for part in text.split("\n\n") if part.strip()]


def _words(text: str) -> SafeString:
    """Return words as HTML: what stands between backticks is code."""
    parts = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", one) if at % 2 else one,) for at, one in parts))


def _kinds(shape: Mapping[str, Any]) -> list[dict[str, str]]:
    return [_kind(one) for one in shape.get("oneOf", ())]


def _kind(said: Mapping[str, Any]) -> dict[str, str]:
    """Return {words, shape} of a type: "list of", and the name of the shape that has an entry of its own."""
    if "$ref" in said:
        return {"words": "", "shape": said["$ref"].rpartition("/")[2]}
    several = [one for one in said.get("anyOf", said.get("oneOf", ())) if one.get("type") != "null"]
    if len(several) == 1:
        return _kind(several[0])
    if several:
        return {"words": " or ".join(_kind(one)["words"] for one in several), "shape": ""}
    if said.get("type") == "array":
        inner = _kind(said.get("items", {}))
        return {"words": f"list of {inner['words']}".strip(), "shape": inner["shape"]}
    if "enum" in said:
        return {"words": " or ".join(map(str, said["enum"])), "shape": ""}
    return {"words": str(said.get("const") or said.get("format") or said.get("type") or "any value"), "shape": ""}
