"""Traffic on a real site while its processes are killed and stopped, and an auditor who compares what the site
acknowledged with what is stored. `run.trial` is the whole of it; tests and `make soak` call that."""

# Comments at which an embedded discussion promotes itself: few, so that many do while something is broken.
BOUND = 8
