"""The schema of the API: the promised one, with every installed content type."""

import json
import re

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.test import Client

from api.http.routing import Router
from api.schemas import openapi
from api.urls import api
from cms.testing import build
from nodes.content import Entry, register, unregister
from nodes.content.declared_fields import declared
from tests.api.renew_schema import SNAPSHOT, present, promised

RENEW = "python -m tests.api.renew_schema"


def test_schema_is_the_published_one():
    """Clients rely on the schema. Read the difference, then renew the file."""
    assert SNAPSHOT.read_text() == present(), f"The schema has changed. If that is meant: {RENEW}"


def test_schema_is_served(mongo):
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200
    assert json.loads(answer.content)["openapi"].startswith("3.1.")
    assert promised(json.loads(answer.content)) == json.loads(present())
    again = Client().get("/api/v1/openapi.json", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_reference_page_lists_every_operation_without_cdn(mongo, commands):
    build.node("basic-page", "about")
    page = Client().get("/api/v1/").content.decode()
    for path in openapi.schema(api)["paths"]:
        assert path in page
    assert "cdn" not in page.lower()
    # The long page is open to any visitor, so it is rendered once for all of them.
    with commands.recorded() as log:
        assert Client().get("/api/v1/").content.decode() == page
    assert len(log) == 1
    rows = {" ".join(re.sub(r"<.*?>", " ", row).split()) for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)}
    for row in (
        "limit integer Nodes per page. 20 by default, at most 100.",
        "state public or removed or pending",
        "title string, required",
        "If-Match string, required The ETag of the version that the change is based on.",
        "state string A state, as in the admin: any , live , scheduled , unpublished , expiring , expired , drafted , due .",
    ):
        assert row in rows
    assert any(row.startswith("Idempotency-Key string Identifies the request") for row in rows)
    assert "Authorization: Bearer mrg_" in page
    assert "`" not in page


def test_write_to_the_reference_returns_405(mongo):
    client = Client(enforce_csrf_checks=True)
    for path in ("/api/v1/", "/api/v1/openapi.json"):
        assert client.head(path).status_code == 200
        answer = client.post(path, {}, content_type="application/json")
        assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
        assert answer["Allow"] == "GET, HEAD"


@pytest.fixture
def recipe():
    @register
    class ApiRecipe(Entry):
        """A dish."""

        servings = models.PositiveSmallIntegerField("Servings", default=2)
        source_url = models.URLField(null=True, blank=True, help_text="Where it is from.")

        class Meta:
            verbose_name = "Recipe"

    yield ApiRecipe
    unregister(ApiRecipe)


def test_content_type_of_an_app_is_in_the_schema(recipe):
    shapes = openapi.schema(api)["components"]["schemas"]
    assert "api-recipe" in shapes["Node"]["discriminator"]["mapping"]
    fields = shapes["ApiRecipeDetail"]["properties"]
    assert fields["servings"] == {"description": "Servings", "title": "Servings", "type": "integer"}
    assert fields["source_url"]["description"] == "Where it is from."
    assert set(fields) == {path.removeprefix("detail.") for path in declared("api-recipe")} - {"source"}
    new = shapes["NewNode"]["discriminator"]["mapping"]["api-recipe"]
    assert new == "#/components/schemas/NewApiRecipeNode"
    assert {"$ref": new} in shapes["NewNode"]["oneOf"]
    assert "photo" not in shapes["NewNode"]["discriminator"]["mapping"]
    assert shapes["NewApiRecipeNode"]["required"] == ["type", "title"]
    detail = shapes["NewApiRecipeNode"]["properties"]["detail"]
    assert detail["anyOf"] == [{"$ref": "#/components/schemas/ApiRecipeDetail"}, {"type": "null"}]
    unregister(recipe)
    assert "ApiRecipeDetail" not in openapi.schema(api)["components"]["schemas"]


def test_writing_operation_must_declare_its_scope():
    with pytest.raises(ImproperlyConfigured):
        Router().post("/x")


def test_changing_operations_require_if_match():
    for path, operations in openapi.schema(api)["paths"].items():
        headers = {one["name"]: one for one in operations.get("patch", {}).get("parameters", ())}
        assert "patch" not in operations or headers["If-Match"]["required"], path


def test_operation_ids_are_unique_names():
    names = [one["operationId"] for path in openapi.schema(api)["paths"].values() for one in path.values()]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+(_[a-z]+)+", name)] == []
    assert {"nodes_list", "nodes_create", "nodes_get", "comments_post", "photos_upload"} <= set(names)


def test_binary_bodies_have_types_that_generators_know():
    for path, operations in openapi.schema(api)["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            assert not [kind for kind in content if "*" in kind], path
            if "image/png" in content:
                assert content["application/octet-stream"] == {"schema": {"type": "string", "format": "binary"}}
