"""The project: settings, URLs, commands, and the code that connects nodes with comments."""

__version__ = "0.1.0"
