"""`check --deploy` and the proxy in front of the site."""

from django.core.checks import run_checks


def warned() -> bool:
    return "cms.W001" in {found.id for found in run_checks(include_deployment_checks=True)}


def test_site_without_a_proxy_gets_a_warning(settings):
    settings.BEHIND_PROXY = False
    assert warned()


def test_site_behind_a_proxy_gets_no_warning(settings):
    settings.BEHIND_PROXY = True
    assert not warned()
