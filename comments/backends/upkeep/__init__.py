"""Upkeep: conversions while a discussion is in use, audits, and repairs of what crashes leave behind."""
