"""Helpers for declaring endpoints, and for reading requests and building responses."""
