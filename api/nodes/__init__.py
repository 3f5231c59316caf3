"""Pages, posts and sections: reading.py answers who may see what, presenting.py says it in JSON."""
