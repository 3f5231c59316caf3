"""/metrics: what requests count (counted, commands) in all worker processes (processes), what is asked of MongoDB when
Prometheus asks (asked), and who may read it (scraping)."""
