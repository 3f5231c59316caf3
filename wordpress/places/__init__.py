"""Determine the places (sections and slugs) of imported posts and pages, including those from previous runs."""
