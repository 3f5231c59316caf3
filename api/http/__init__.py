"""How endpoints are declared and answered."""
