"""Local processes: starting, watching and ending them, including the embedded MongoDB. Uses neither Django nor the other
packages."""
