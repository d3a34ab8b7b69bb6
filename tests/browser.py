"""A headless Chromium that tests drive over a pipe, by the DevTools protocol: nothing else is installed for it."""

import base64
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """Return the path of a Chromium, or None."""
    return os.environ.get("BNPLUG_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a Chromium of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="bnplug-chromium-")
        command = [find(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder}"]
        command += ["--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        quiet = os.open(os.devnull, os.O_WRONLY)
        # What it talks through are its files 3 and 4; high numbers first, so that none is in the way.
        actions = [(os.POSIX_SPAWN_DUP2, theirs_in, 103), (os.POSIX_SPAWN_DUP2, theirs_out, 104)]
        actions += [(os.POSIX_SPAWN_DUP2, 103, 3), (os.POSIX_SPAWN_DUP2, 104, 4)]
        actions += [(os.POSIX_SPAWN_CLOSE, 103), (os.POSIX_SPAWN_CLOSE, 104)]
        actions += [(os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)]
        self._pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions, setpgroup=0)
        for own in (theirs_in, theirs_out, quiet):
            os.close(own)
        self._buffer, self._number, self.events = b"", 0, []
        target = self.call("Target.createTarget", session=None, url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", session=None, targetId=target, flatten=True)
        self._session = attached["sessionId"]
        # A frame in a sandbox is a process of its own.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, session="own", **params):
        """Send a command; return its result. Events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        while b"\0" not in self._buffer:
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has gone"
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, address="", width=1300, height=900, dark=False):
        """Open a file, and wait until its page has started."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank' && document.readyState === 'complete'")
        self.events.clear()
        self.call("Page.navigate", url=Path(path).as_uri() + address)
        self.until("location.protocol === 'file:' && document.readyState === 'complete'")

    def run(self, expression):
        """Return the value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def enter_frame(self):
        """Let what follows run in the frame in a sandbox that the page holds."""
        self.run("0")
        attached = [event["params"] for event in self.events if event.get("method") == "Target.attachedToTarget"]
        (self._session,) = [one["sessionId"] for one in attached if one["targetInfo"]["type"] == "iframe"]

    def until(self, condition, seconds=20):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"waited in vain for {condition}"
            time.sleep(0.02)

    def errors(self):
        """Return what the page has thrown or complained of."""
        self.run("0")
        methods = {"Runtime.exceptionThrown", "Log.entryAdded"}
        return [event["params"] for event in self.events if event.get("method") in methods]

    def requests(self):
        """Return the addresses that the page has asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self, path, whole=False):
        """Write a picture of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        """End the browser."""
        for own in (self._out, self._in):
            os.close(own)
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
