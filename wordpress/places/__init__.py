"""The places of imported posts and pages: their sections and slugs, including those of previous runs."""
