"""The change feed: an ordered list of all changes, for mirrors and caches.

reading.py     the endpoint GET /changes
relay.py       the relay, which reads MongoDB's change stream and appends changes to the list
events.py      conversion of change stream events to changes
visibility.py  functions that determine which changes readers can see
change_log.py  the stored list, with the number and expiry of each entry
"""
