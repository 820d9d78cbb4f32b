"""A running server for tests: in a thread of this process, or in a process of its own that can be killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from spectragram.serve.app import make_app
from spectragram.serve.security import Policy, policy_for
from spectragram.serve.server import _bound, open_workbench
from spectragram.serve.shelf import Shelf
from spectragram.serve.workbench import Workbench

GOLDEN = Path(__file__).parent.parent / "golden"


@dataclass(frozen=True)
class Live:
    """A server that answers on ``port``."""

    port: int
    workbench: Workbench | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, body (parsed where it is JSON) and headers of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json"} if content is not None else {}
        connection.request(method, path, content, sent | (headers or {}))
        try:
            answer = connection.getresponse()
            found = answer.read()
        except http.client.HTTPException as trouble:  # the server went away in the middle of its answer
            raise ConnectionError(str(trouble)) from trouble
        received = {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        if received.get("content-type", "").startswith("application/json") and found:
            return answer.status, json.loads(found), received
        return answer.status, found, received

    def get(self, path: str) -> Any:
        status, found, _ = self.ask("GET", path)
        assert status == 200, found
        return found

    def post(self, path: str, **body: Any) -> Any:
        status, found, _ = self.ask("POST", path, body)
        assert status == 200, found
        return found

    def step(self, number: int, **step: Any) -> Any:
        return self.post(f"/api/corpus/{number}/step", step=step)


@contextlib.contextmanager
def serving(
    models: list[Path] | None = None, corpus: Path | None = None, *, policy: Policy | None = None, **options: Any
) -> Iterator[Live]:
    """Serve models and a corpus from a thread."""
    shelf = Shelf.load(models or [])
    workbench = None if corpus is None else open_workbench(corpus, shelf, models or [], **options)
    app = make_app(shelf, workbench, policy or policy_for("127.0.0.1"))
    listening = _bound("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Live(listening.getsockname()[1], workbench)
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
        if workbench is not None:
            workbench.training.cancel()


@contextlib.contextmanager
def serving_process(*arguments: object) -> Iterator[tuple[Live, subprocess.Popen[str]]]:
    """Run ``spectragram serve`` with these arguments, as a user does."""
    command = [sys.executable, "-m", "spectragram", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the server did not start"
        yield Live(int(address.split(":")[2].split("/")[0])), process
    finally:
        process.kill()
        process.communicate()
