"""Endpoints for pages, posts and sections.

reading.py      endpoints that read nodes; listing.py: lists; presenting.py: conversion of nodes to JSON
writing.py      endpoints that change nodes; operations.py: the actions (nodes/actions/) that they call; bulk.py: many
                changes in one request
patches.py      converts request bodies to fields, keyed by path
"""
