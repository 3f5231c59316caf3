"""The places of imported posts and pages: their sections and slugs, and those of previous runs."""
