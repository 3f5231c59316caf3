"""What changed since: one list of all changes, in order, for mirrors and caches.

reading.py     GET /changes
relay.py       what the worker does: reads the change stream of MongoDB, and appends
events.py      what an event of the stream tells
visibility.py  which changes readers may know of
stored.py      the list as it is stored: numbers, the end, the horizon
"""
