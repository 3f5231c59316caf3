"""The /metrics endpoint.

The modules request_metrics and commands count requests and MongoDB commands in each worker process, and multiprocess
adds up the counts of all processes. database_metrics queries MongoDB on each scrape, and scraping checks permissions.
"""
