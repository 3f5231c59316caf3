"""The feed of changes: one ordered list of all changes, for mirrors and caches.

reading.py     GET /changes
relay.py       the worker's part: read MongoDB's change stream and append to the list
events.py      turn events of the stream into changes
visibility.py  which changes readers can know of
change_log.py  the list as it is stored: numbers, the last entry, expiry
"""
