"""The project: settings, URLs, commands, and the code that connects nodes with comments."""

from marginalia import __version__ as __version__
