"""A headless Chromium for tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import pytest

__all__ = ["chromium"]

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
