"""The API's OpenAPI 3.1 document, with all installed content types."""

from functools import cache
from inspect import getdoc
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import translation
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import TypeAdapter

from api import problems
from api.http import responses
from api.http.routing import Api
from api.schemas import shapes, writing
from nodes.content import Content, registry

REF_TEMPLATE = "#/components/schemas/{model}"
URL_PREFIX = "/api/v1"
# Schemas of query parameters. They are removed from the document, because ninja describes the parameters in each
# operation.
_PARAMETERS = ("PhotoDescription", "Filters", "FacetFilters", "NodeOptions", "ChangeOptions", "VersionOptions")
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


class _Document(OpenAPISchema):
    """An OpenAPI document that records which names and operation ids are used twice.

    Attributes:
        conflicts: The names that different schemas share, and the ids that different operations share.
    """

    def __init__(self, api: Api) -> None:
        self.conflicts: set[str] = set()
        super().__init__(api, URL_PREFIX.removeprefix("/") + "/")

    def add_schema_definitions(self, definitions: dict[str, Any]) -> None:
        """Add schemas to the document."""
        present = self.schemas
        self.conflicts |= {name for name, shape in definitions.items() if present.get(name, shape) != shape}
        super().add_schema_definitions(definitions)

    def operation_details(self, operation: Operation) -> dict[str, Any]:
        """Return the description of an operation."""
        if operation.operation_id in self.all_operation_ids:
            self.conflicts.add(str(operation.operation_id))
        details: dict[str, Any] = super().operation_details(operation)
        return details


def conflicts(api: Api) -> set[str]:
    """Return the names that different schemas of the API share, and the ids that different operations share."""
    return _Document(api).conflicts


def schema(api: Api) -> dict[str, Any]:
    """Return the API's OpenAPI document, with all content types that are currently installed.

    The document is in English, regardless of the site's language.
    """
    return _schema(api, registry.types())


@cache
def _schema(api: Api, types: tuple[type[Content], ...]) -> dict[str, Any]:
    with translation.override("en"):
        document: dict[str, Any] = dict(_Document(api))
        node_schema = TypeAdapter(shapes.any_node()).json_schema(ref_template=REF_TEMPLATE, mode="serialization")
        new_node_schema = TypeAdapter(writing.any_new_node()).json_schema(ref_template=REF_TEMPLATE)
    known = document["components"]["schemas"]
    known |= new_node_schema.pop("$defs")
    node_shapes = node_schema.pop("$defs")
    for shape in node_shapes.values():
        for field in shape.get("properties", {}).values():
            # Remove the default. Clients would use it as the value of a missing field, but a field is missing from a
            # response only if it wasn't requested.
            field.pop("default", None)
    known |= node_shapes
    known["Node"] = {"title": "Node", "description": getdoc(shapes.Node), **node_schema}
    known["NewNode"] = {"title": "NewNode", "description": getdoc(writing.NewNode), **new_node_schema}
    known["Problem"] = _PROBLEM
    for name in _PARAMETERS:
        known.pop(name, None)
    details = [name for name in known if name.endswith("Detail")]
    # A change doesn't contain the node's type, so its `detail` can have the fields of any type.
    known["NodeChange"]["properties"]["detail"] = {
        "description": "The fields of the type.",
        "anyOf": [*({"$ref": REF_TEMPLATE.format(model=detail)} for detail in details), {"type": "null"}],
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            _complete(operation)
    document["components"].get("securitySchemes", {}).pop("Visitor", None)
    return document


def _complete(operation: dict[str, Any]) -> None:
    """Complete an operation: add the problem response, correct the parameters, and show whether a token is required."""
    problem_content = {problems.CONTENT_TYPE: {"schema": {"$ref": REF_TEMPLATE.format(model="Problem")}}}
    operation["responses"] = {str(status): response for status, response in operation["responses"].items()}
    for status, response in operation["responses"].items():
        # ninja declares all responses as application/json, but problems have their own content type.
        if status >= "400" and "content" in response:
            response["content"] = {problems.CONTENT_TYPE: response["content"].pop("application/json")}
    operation["responses"]["default"] = {"description": "A problem", "content": problem_content}
    for parameter in operation["parameters"]:
        # Remove ninja's list of examples, because OpenAPI expects an object here. The parameter's schema also contains
        # the examples.
        parameter.pop("examples", None)
        if parameter["name"] == "If-Match":
            # The view functions declare this header as optional. If they declared it as required, ninja would return
            # 422 instead of 428 when the header is missing.
            parameter["required"] = True
            parameter["schema"].pop("default", None)
            parameter["schema"] |= {"minLength": 1, "pattern": "^[^ *]"}
    operation["security"] = [{} if "Visitor" in scheme else scheme for scheme in operation.get("security", ())]


@problems.read_only
def document(request: HttpRequest, api: Api) -> HttpResponse:
    """Return the OpenAPI document with an ETag."""
    response = JsonResponse(schema(api))
    response["ETag"] = responses.etag(None, response.content)
    response["Cache-Control"] = "no-cache"
    return response
