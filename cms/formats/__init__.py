"""Formats of dates and times, by language. If a language has no folder, Django's formats are used."""
