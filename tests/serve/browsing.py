"""Chromium without a window, for tests and measurements; where there is none, tests skip."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
SECONDS = 60
"""Longest wait for something to appear: the machine may be busy."""


def chromium() -> tuple[str, str] | None:
    """The paths of Chromium and its driver."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return None if browser is None or driver is None else (browser, driver)


class Browser:
    """A browser with the few gestures that the tests make."""

    def __init__(self) -> None:
        found = chromium()
        assert found is not None
        options = Options()
        options.binary_location = found[0]
        self.folder = Path(tempfile.mkdtemp(prefix="chromium-"))
        for flag in (*FLAGS, f"--user-data-dir={self.folder}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(found[1]))
        self.resize(1280, 900)

    def close(self) -> None:
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def open(self, address: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(address)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until a script returns something true, and return it."""
        message = f"never true: {script}"
        return WebDriverWait(self.driver, SECONDS, 0.05).until(lambda d: d.execute_script(script, *arguments), message)

    def find(self, selector: str) -> Any:
        self.until("return document.querySelector(arguments[0])", selector)
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def keys(self, *keys: str) -> None:
        """Type wherever the focus is."""
        actions = ActionChains(self.driver, duration=0)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def drag(self, source: str, target: str) -> None:
        """Press, move and release; by places on the page, since what is dragged may be drawn again meanwhile."""
        actions = ActionChains(self.driver, duration=20)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*self.centre(source)).pointer_down().move_to_location(
            *self.centre(target)
        ).pointer_up()
        actions.perform()

    def centre(self, selector: str) -> tuple[int, int]:
        """Where the middle of an element is in the window."""
        self.find(selector).location_once_scrolled_into_view
        box = self.run("return document.querySelector(arguments[0]).getBoundingClientRect()", selector)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        return round(x), round(y)

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.run("return document.documentElement.scrollWidth - innerWidth"))

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def errors(self) -> list[str]:
        """What the console complained about since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
