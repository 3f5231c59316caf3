"""Comments: discussions, posting, moderating."""
