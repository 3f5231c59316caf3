"""The schema of the API, OpenAPI 3.1, with the types that are installed in it."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import translation
from ninja.openapi.schema import OpenAPISchema
from pydantic import TypeAdapter

from api import problems
from api.http import answers
from api.http.routing import Api
from api.schemas import shapes
from nodes.content import Content, registry

REFERENCE = "#/components/schemas/{model}"
ADDRESS = "/api/v1"
# Shapes of parameters, which stand with the operations.
_PARAMETERS = ("Described", "Filters", "OfSection", "Shown", "Writing", "Version")
# Shapes of what is sent that have fields of any type.
_OF_ANY_TYPE = ("NewNode", "NodeChange")
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                "required": ["field", "message"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
}


def schema(api: Api) -> dict[str, Any]:
    """Return the schema of an API as it is with the types that are installed now. In English, whatever the site speaks."""
    return _schema(api, registry.types())


@cache
def _schema(api: Api, types: tuple[type[Content], ...]) -> dict[str, Any]:
    with translation.override("en"):
        made: dict[str, Any] = dict(OpenAPISchema(api, ADDRESS.removeprefix("/") + "/"))
        of_nodes = TypeAdapter(shapes.any_node()).json_schema(ref_template=REFERENCE, mode="serialization")
    known = made["components"]["schemas"]
    shapes_of_nodes = of_nodes.pop("$defs")
    for shape in shapes_of_nodes.values():
        for said in shape.get("properties", {}).values():
            # What is not there was not asked for.
            said.pop("default", None)
    known |= shapes_of_nodes
    known["Node"] = {"title": "Node", "description": shapes.Node.__doc__, **of_nodes}
    known["Problem"] = _PROBLEM
    for name in _PARAMETERS:
        known.pop(name, None)
    details = [name for name in known if name.endswith("Detail")]
    for name in _OF_ANY_TYPE:
        known[name]["properties"]["detail"] = {
            "description": "The fields of the type.",
            "anyOf": [*({"$ref": REFERENCE.format(model=detail)} for detail in details), {"type": "null"}],
        }
    for operations in made["paths"].values():
        for operation in operations.values():
            _complete(operation)
    made["components"].get("securitySchemes", {}).pop("Visitor", None)
    return made


def _complete(operation: dict[str, Any]) -> None:
    """Say what every operation has: problems, and that who only reads needs no token."""
    told = {problems.CONTENT_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
    operation["responses"] = {str(status): answer for status, answer in operation["responses"].items()}
    for status, answer in operation["responses"].items():
        # ninja knows one type of content.
        if status >= "400" and "content" in answer:
            answer["content"] = {problems.CONTENT_TYPE: answer["content"].pop("application/json")}
    operation["responses"]["default"] = {"description": "A problem", "content": told}
    for parameter in operation["parameters"]:
        # Here they would have names; they stand in the schema, too.
        parameter.pop("examples", None)
        if parameter["name"] == "If-Match":
            # No function takes it as required: that would be answered with 422, not 428.
            parameter["required"] = True
            parameter["schema"].pop("default", None)
            parameter["schema"] |= {"minLength": 1, "pattern": "^[^ *]"}
    operation["security"] = [{} if "Visitor" in one else one for one in operation.get("security", ())]


@problems.only_read
def document(request: HttpRequest, api: Api) -> HttpResponse:
    """Answer the schema, with its ETag as all else."""
    response = JsonResponse(schema(api))
    response["ETag"] = answers.etag(None, response.content)
    response["Cache-Control"] = "no-cache"
    return response
