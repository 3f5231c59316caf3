"""The folders of the product's code, which the documents name."""

PACKAGES = ("api", "cms", "comments", "editor", "marginalia", "nodes", "photos", "reader", "transfer", "wordpress")
