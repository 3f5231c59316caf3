"""Declaration of endpoints, and functions for responses."""
