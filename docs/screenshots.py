"""Record the pictures of the report and of the editor: ``python docs/screenshots.py``.

Both are the real pages in a headless Chromium (``chromium`` and ``chromedriver``), for the tree of
the README's quickstart. They are written to ``docs/_static/report.png`` and ``editor.png``.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import uvicorn
from PIL import Image, ImageOps
from selenium import webdriver
from selenium.webdriver.chrome.options import Options

from treebound import BoundTreeClassifier
from treebound.edit.page import EditorPage
from treebound.edit.server import application

HERE = Path(__file__).parent
SIZE = (1280, 860)
FRAME = "#d0d7de"  # around the page, as README and page are white


def browser() -> Any:
    """Return a headless Chromium."""
    options = Options()
    window = f"--window-size={SIZE[0]},{SIZE[1]}"
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", window):
        options.add_argument(argument)
    return webdriver.Chrome(options=options)


def take(driver: Any, address: str, name: str) -> None:
    """Write a picture of a page, once it has been drawn."""
    driver.get(address)
    width, height = SIZE
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    time.sleep(1.5)
    path = HERE / "_static" / name
    driver.save_screenshot(str(path))
    ImageOps.expand(Image.open(path).convert("RGB"), border=2, fill=FRAME).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1e3:,.0f} kB")


def main() -> None:
    """Fit the tree, and take both pictures."""
    table = pd.read_csv(HERE.parent / "examples" / "parcels.csv")
    X, y = table[["weight", "service", "country"]], table["arrival"]
    clf = BoundTreeClassifier().fit(X, y)
    driver = browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.html"
            clf.to_html(report)
            take(driver, report.as_uri(), "report.png")
        page = EditorPage(clf.edit(X, y), title="Parcels", save=lambda command, model: command)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            config = uvicorn.Config(
                application(page, "token", port), log_level="error", lifespan="off"
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            take(driver, f"http://127.0.0.1:{port}/?token=token", "editor.png")
            server.should_exit = server.force_exit = True
            thread.join()
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
