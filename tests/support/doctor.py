"""Run the doctor, and select findings by name."""

from marginalia.mongo import doctor


def findings(name: str) -> list[doctor.Finding]:
    return [finding for finding in doctor.examine() if finding.name == name]
