"""Maintenance: conversions of discussions that are in use, audits, and repairs after crashes."""
