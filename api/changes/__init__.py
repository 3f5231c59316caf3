"""The change feed: an ordered list of all changes, for mirrors and caches.

reading.py     GET /changes
relay.py       the worker's part: reads MongoDB's change stream and appends to the list
events.py      converts change stream events to changes
visibility.py  determines which changes readers can see
change_log.py  the stored list: numbers, the last entry, expiry
"""
