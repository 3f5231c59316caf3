"""Keeping the embedded server up: whoever serves from it looks now and then, and starts it again when it has died."""

import time
from collections.abc import Callable

from local.embedded import Embedded, State
from local.mongod import MongodError

DELAYS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # seconds before each further try
STEADY_SECONDS = 60.0  # a server that ran this long is well: its next death starts the delays anew


class Keeper:
    """Looks after a server of which this process holds a share. `say` gets a sentence about every try."""

    def __init__(self, embedded: Embedded, state: State, say: Callable[[str], None]) -> None:
        self.state = state
        self._embedded = embedded
        self._say = say
        self._tries = 0
        self._began = time.monotonic()
        self._not_before = 0.0

    def look(self) -> None:
        """Start the server again if it is gone and its next try is due. To be called about every half second."""
        now = time.monotonic()
        if now < self._not_before:
            return
        if (running := self._embedded.running()) is not None:
            self.state = running
            if now - self._began > STEADY_SECONDS:
                self._tries = 0
            return
        self._tries += 1
        try:
            self.state = self._embedded.ensure()
        except MongodError as error:
            delay = DELAYS[min(self._tries, len(DELAYS) - 1)]
            self._say(f"mongod is down, next try in {delay:.0f} s: {error}")
        else:
            delay = DELAYS[min(self._tries - 1, len(DELAYS) - 1)]
            self._say(f"mongod had ended; it runs again as process {self.state.pid} on port {self.state.port}.")
            self._began = time.monotonic()
        self._not_before = time.monotonic() + delay
