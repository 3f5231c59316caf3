"""The Django project: settings, URLs, commands, and the code that connects nodes to comments."""

from marginalia import __version__ as __version__
