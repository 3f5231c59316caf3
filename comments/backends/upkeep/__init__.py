"""Maintenance: conversions of discussions in use, audits, and repairs after crashes."""
