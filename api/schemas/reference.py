"""The API's reference page: the OpenAPI document as HTML, without scripts."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from api import problems
from api.http.routing import Api
from api.schemas import openapi


@problems.read_only
def page(request: HttpRequest, api: Api) -> HttpResponse:
    """Return the reference page, which lists all operations, schemas and problems."""
    schema = openapi.schema(api)
    context = {
        "operations": list(_operations(schema)),
        "shapes": list(_shapes(schema)),
        "problems": [
            {"kind": kind, "status": status, "meaning": _to_html(meaning)}
            for kind, (status, meaning) in problems.KINDS.items()
        ],
        "version": schema["info"]["version"],
    }
    return render(request, "api/reference.html", context)


def _operations(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            bodies = operation.get("requestBody", {}).get("content", {}).values()
            response_contents = [item.get("content", {}).values() for item in operation["responses"].values()]
            yield {
                "id": operation["operationId"],
                "method": method.upper(),
                "path": path,
                "summary": operation["summary"],
                "paragraphs": _paragraphs(operation.get("description", "")),
                "parameters": [
                    _describe_field(item["name"], {**item, **item["schema"]}, is_needed=item.get("required", False))
                    for item in operation["parameters"]
                ],
                "body": next((_describe_type(item["schema"]) for item in bodies), None),
                "answer": next(
                    (_describe_type(item["schema"]) for contents in response_contents for item in contents), None
                ),
                "needs_account": {} not in operation["security"],
            }


def _shapes(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    shapes = schema["components"]["schemas"]
    # Mark fields as required only in request bodies. Responses always contain all the fields listed.
    body_shapes = {operation["body"]["shape"] for operation in _operations(schema) if operation["body"]}
    body_shapes |= {option["shape"] for name in body_shapes for option in _options(shapes.get(name, {}))}
    for name, shape in sorted(shapes.items()):
        required = shape.get("required", ()) if name in body_shapes else ()
        fields = [
            _describe_field(field, field_schema, is_needed=field in required)
            for field, field_schema in shape.get("properties", {}).items()
        ]
        yield {
            "name": name,
            "paragraphs": _paragraphs(shape.get("description", "")),
            "fields": fields,
            "kinds": _options(shape),
        }


def _describe_field(name: str, schema: Mapping[str, Any], *, is_needed: bool) -> dict[str, Any]:
    examples = schema.get("examples") or []
    default = f"{schema['default']} by default" if type(schema.get("default")) is int else ""
    maximum = f"at most {schema['maximum']}" if "maximum" in schema else ""
    bounds = ", ".join(filter(None, (default, maximum)))
    return {
        "name": name,
        "kind": _describe_type(schema),
        "description": _to_html(f"{schema.get('description', '')} {bounds}{'.' if bounds else ''}".strip()),
        "example": examples[0] if examples and isinstance(examples[0], str) else "",
        "is_needed": is_needed,
    }


def _paragraphs(text: str) -> list[SafeString]:
    return [_to_html(" ".join(part.split())) for part in text.split("\n\n") if part.strip()]


def _to_html(text: str) -> SafeString:
    """Convert text to HTML. Text between backticks becomes code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if index % 2 else part,) for index, part in parts)
    )


def _options(shape: Mapping[str, Any]) -> list[dict[str, str]]:
    return [_describe_type(option) for option in shape.get("oneOf", ())]


def _describe_type(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return {words, shape} for a schema.

    `words` is a phrase such as "list of". `shape` is the name of the schema to link to, or "" if there is no such
    schema.
    """
    if "$ref" in schema:
        return {"words": "", "shape": schema["$ref"].rpartition("/")[2]}
    options = [option for option in schema.get("anyOf", schema.get("oneOf", ())) if option.get("type") != "null"]
    if len(options) == 1:
        return _describe_type(options[0])
    if options:
        return {"words": " or ".join(_describe_type(option)["words"] for option in options), "shape": ""}
    if schema.get("type") == "array":
        inner = _describe_type(schema.get("items", {}))
        return {"words": f"list of {inner['words']}".strip(), "shape": inner["shape"]}
    if "enum" in schema:
        return {"words": " or ".join(map(str, schema["enum"])), "shape": ""}
    return {"words": str(schema.get("const") or schema.get("format") or schema.get("type") or "any value"), "shape": ""}
