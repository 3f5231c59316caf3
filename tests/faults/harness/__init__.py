"""Traffic on a real site during faults, and an auditor.

The auditor compares acknowledged with stored data. `run.trial` combines them. Tests and `make soak` call it.
"""

# Comments at which an embedded discussion is promoted: few, so that many are promoted during a fault.
BOUND = 8
