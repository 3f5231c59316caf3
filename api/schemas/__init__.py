"""Schemas of requests and responses, and the OpenAPI document.

The schemas of nodes are generated from the content types.
"""
