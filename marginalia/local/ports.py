"""Functions that find out whether a local port is free and which process is listening on it."""

import contextlib
import errno
import os
import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a free port below the range that the kernel uses for outgoing connections."""
    while not is_free(port := random.randrange(20_000, 32_768)):
        pass
    return port


def is_free(port: int) -> bool:
    """Return whether no other socket uses `port`.

    Raises:
        OSError: This user's servers can't listen on the port.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def listener(port: int) -> int | None:
    """Return the id of the process that is listening on the TCP port `port`, or None if there is no such process.

    The result is also None if the process belongs to another user (unless this user is root), or on systems other than
    Linux.
    """
    sockets = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(FileNotFoundError):
            for line in table.read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:  # 0A: TCP_LISTEN
                    sockets.add(f"socket:[{words[9]}]")
    if not sockets:
        return None
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            if any(os.readlink(descriptor) in sockets for descriptor in (process / "fd").iterdir()):
                return int(process.name)
    return None
