"""The API's promises: shapes, which for nodes are made from the registry of content types, and the OpenAPI document."""
