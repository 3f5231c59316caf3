"""Maintenance of discussions: conversions while they are in use, audits, and repairs after crashes."""
