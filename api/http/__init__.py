"""How endpoints are declared, and the responses that they share."""
