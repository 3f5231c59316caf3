"""The endpoint /metrics.

request_metrics and commands count requests in each worker process, and multiprocess adds up all processes.
database_metrics queries MongoDB at each scrape, and scraping checks permissions.
"""
