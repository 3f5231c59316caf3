"""Parse /metrics in the same way as Prometheus."""

from prometheus_client.parser import text_string_to_metric_families


class Scraped:
    """The samples in a response from /metrics."""

    def __init__(self, text: str) -> None:
        self.samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    @property
    def names(self) -> set[str]:
        """Return the names of all samples, without "marginalia_"."""
        return {sample.name.removeprefix("marginalia_") for sample in self.samples}

    def __call__(self, name: str, **labels: str) -> float:
        """Return the sum of the samples that have this name (without "marginalia_") and these labels."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == f"marginalia_{name}" and labels.items() <= sample.labels.items()
        )
