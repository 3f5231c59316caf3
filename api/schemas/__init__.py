"""Shapes of requests and responses, and the OpenAPI document.

Shapes of nodes are generated from their content types.
"""
