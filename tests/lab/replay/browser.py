"""A headless Chromium to look at pages with: found or installed, and driven over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.waiting import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--mute-audio",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-pipe",
)  # fmt: skip
LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, wanted in zip(ends, (3, 4)):
    os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes on the descriptors 3 and 4, where the protocol wants them."""


class NoBrowser(Exception):
    """There is no browser here; says what was tried."""


def find_browser(*, install_s: float = 240.0) -> str:
    """Return the path of a browser; root on a machine with apt gets one installed."""
    if (found := _on_path()) is not None:
        return found
    tried = f"none of {', '.join(NAMES)} is on the path"
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise NoBrowser(f"{tried}; install chromium")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with suppress(subprocess.SubprocessError, OSError):
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, timeout=install_s)
    if (found := _on_path()) is not None:
        return found
    raise NoBrowser(f"{tried}, and `apt-get install chromium` did not bring one")


def _on_path() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path is not None), None)


class Page:
    """One open page: what it logged, what it asked the network for, and a way to ask and press."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser, self._session = browser, session
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command of the DevTools protocol."""
        return self._browser.call(method, parameters, session=self._session)

    def ask(self, expression: str) -> Any:
        """Return what a JavaScript expression is worth in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait for a JavaScript expression to become true."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.ask(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"{expression} never became true; complaints of the page: {self.complaints}")
            time.sleep(0.02)

    def state(self) -> dict[str, str]:
        """Return the data- attributes of the body."""
        return dict(self.ask("({...document.body.dataset})"))

    def click(self, selector: str) -> None:
        """Click the middle of an element with the mouse, as a person would."""
        box = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{box}.scrollIntoView({{block: 'nearest', behavior: 'instant'}})")
        place = f"(r => [r.x + r.width / 2, r.y + r.height / 2])({box}.getBoundingClientRect())"
        x, y = self.ask(place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, selector: str = "body") -> bytes:
        """Return a PNG of an element as it is seen."""
        bounds = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y, width, height = self.ask(f"(r => [r.x, r.y, r.width, r.height])({bounds})")
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip)["data"])

    def heard(self, event: dict[str, Any]) -> None:
        """Take note of what the page logs and loads."""
        parameters = event["params"]
        match event["method"]:
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.complaints.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case _:
                pass


class Browser:
    """A running browser; a context manager that ends it."""

    def __init__(self, program: str, folder: Path) -> None:
        self._reads, theirs_out = os.pipe()
        theirs_in, self._writes = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        launch = [sys.executable, "-c", LAUNCHER, str(theirs_in), str(theirs_out), *command]
        self._process = subprocess.Popen(
            launch, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._pages: dict[str, Page] = {}
        self._rest = b""
        self._number = 0

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(AssertionError, OSError):
            self.call("Browser.close", {})
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        os.close(self._reads)
        os.close(self._writes)

    @contextmanager
    def page(
        self, path: Path, *, width: int = 1000, height: int = 640, media: dict[str, str] | None = None, before: str = ""
    ) -> Iterator[Page]:
        """Open a file in a window of a size, with media features set and a script run before its own."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": name, "value": value} for name, value in (media or {}).items()]
        page.call("Emulation.setEmulatedMedia", features=features)
        page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        page.call("Page.navigate", url=path.as_uri())
        try:
            yield page
        finally:
            self.call("Target.closeTarget", {"targetId": target})
            del self._pages[session]

    def call(self, method: str, parameters: dict[str, Any], *, session: str | None = None) -> dict[str, Any]:
        """Return the answer to a command; what arrives meanwhile goes to the page it is from."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            if "method" in answer and (page := self._pages.get(answer.get("sessionId", ""))) is not None:
                page.heard(answer)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            answering, _, _ = select.select([self._reads], [], [], PATIENCE_S)
            if not answering:
                raise AssertionError(f"the browser said nothing for {PATIENCE_S} s")
            piece = os.read(self._reads, 1 << 16)
            if not piece:
                raise AssertionError("the browser went away")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))


def distinct_colours(page: Page, png: bytes) -> int:
    """Return how many colours a picture has, counted by the browser itself."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    return int(
        page.ask(f"""(async () => {{
            const image = new Image();
            image.src = {json.dumps(source)};
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height);
            const paint = canvas.getContext("2d");
            paint.drawImage(image, 0, 0);
            const pixels = new Uint32Array(paint.getImageData(0, 0, image.width, image.height).data.buffer);
            return new Set(pixels).size;
        }})()""")
    )
