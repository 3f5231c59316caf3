"""Where imported posts and pages stand: sections, slugs, and what an earlier run made."""
