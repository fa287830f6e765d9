"""A browser to look at pages with: Chromium without a window, by its DevTools protocol."""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Tab:
    """A page that is open; `wrong` is all that its scripts complained of."""

    def __init__(self, socket):
        self.socket, self.numbers, self.wrong = socket, itertools.count(), []

    async def send(self, method, **parameters):
        number = next(self.numbers)
        await self.socket.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = json.loads(await asyncio.wait_for(self.socket.read_message(), 60))
            if said.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.wrong.append(json.dumps(said["params"]))
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]

    async def run(self, script):
        found = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def wait_for(self, script, seconds=60):
        until = time.monotonic() + seconds
        while not await self.run(f"Boolean({script})"):
            assert time.monotonic() < until, script
            await asyncio.sleep(0.05)

    async def open(self, url, width, height):
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        await self.send("Page.navigate", url=url)
        await self.wait_for(f"location.href.startsWith({url!r}) && document.readyState === 'complete'")

    async def drag(self, *points):
        """Press at the first point, move along the others, let go at the last."""
        for kind, (x, y) in zip(("mousePressed", *["mouseMoved"] * (len(points) - 1)), points, strict=True):
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        x, y = points[-1]
        await self.send("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)

    async def place(self, selector, across=0.5, down=0.5):
        """Where an element is, in pixels of the window, after scrolling to it."""
        found = f"const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}})"
        return await self.run(
            f"(() => {{ {found}; const b = e.getBoundingClientRect(); return [b.left + {across} * b.width, b.top + {down} * b.height] }})()"
        )

    async def picture(self, path):
        whole = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(whole["data"]))


@asynccontextmanager
async def browser():
    from tornado.websocket import websocket_connect

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            file, until = Path(profile) / "DevToolsActivePort", time.monotonic() + 60
            while not (file.exists() and len(file.read_text().split()) > 1):
                assert process.poll() is None, "Chromium ended"
                assert time.monotonic() < until, "Chromium does not start"
                await asyncio.sleep(0.05)
            with urllib.request.urlopen(f"http://127.0.0.1:{file.read_text().split()[0]}/json/list") as listed:
                address = next(page for page in json.load(listed) if page["type"] == "page")["webSocketDebuggerUrl"]
            tab = Tab(await websocket_connect(address, max_message_size=2**27))
            try:
                for domain in ("Page", "Runtime", "Log"):
                    await tab.send(f"{domain}.enable")
                yield tab
            finally:
                tab.socket.close()
                while await asyncio.wait_for(tab.socket.read_message(), 10) is not None:
                    pass  # until the other side has closed it too
                await asyncio.sleep(0.1)
        finally:
            process.kill()
            process.wait()
