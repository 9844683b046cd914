"""A headless Chromium for tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import pytest

__all__ = ["chromium", "narrow", "scrolling_sideways"]

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
    "--window-size=1280,860",
)  # fmt: skip


@contextmanager
def chromium(*, dark: bool = False) -> Iterator[Any]:
    """A selenium driver with a profile of its own; skips the test where something is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={profile}", *(["--force-dark-mode"] * dark)):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=driver)
        made = webdriver.Chrome(options=options, service=service)
        try:
            yield made
        finally:
            made.quit()


@contextmanager
def narrow(driver: Any, width: int = 400) -> Iterator[None]:
    """The page on a phone of some width."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def scrolling_sideways(driver: Any) -> list[str]:
    """The parts of a page that are wider than the place they have, by their ids."""
    wide = """
      return [document.documentElement, ...document.querySelectorAll('.scroll')]
        .filter((part) => part.scrollWidth > part.clientWidth + 1)
        .map((part) => part.closest('[id]')?.id ?? 'page');
    """
    return list(driver.execute_script(wide))
