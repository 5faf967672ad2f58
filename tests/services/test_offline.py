"""The offline model, for real: it loads, lists itself, streams an answer, and ends at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_site.lib.errors import ConfigError
from hermes_site.services import offline
from tests.fakes.servers import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_site.services.offline", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: process.poll() is not None or healthy(port), "the model is loaded", 60)
    yield port
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def test_lists_itself_and_its_window(port: int) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/models", headers={"Origin": "http://elsewhere.example"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        model = json.load(answer)["data"][0]
        allowed = answer.headers.get("Access-Control-Allow-Origin")
    assert model["id"] == offline.MODEL
    assert model["meta"]["n_ctx"] == offline.SLOT_TOKENS
    assert allowed not in ("*", "http://elsewhere.example")


def test_streams_a_real_answer(port: int) -> None:
    body = {
        "model": offline.MODEL,
        "stream": True,
        "temperature": 0,
        "max_tokens": 40,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "What is the capital of France?"},
        ],
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        lines = [line[6:].strip() for line in answer if line.startswith(b"data: ")]
    assert lines[-1] == b"[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content") for line in lines[:-1]]
    words = [delta for delta in deltas if delta]
    assert len(words) > 3
    assert "Paris" in "".join(words)


def test_shows_nobody_elses_prompts(port: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/slots", timeout=5)
    assert refused.value.code == 501


def test_url_follows_the_port_file(tmp_path: Path) -> None:
    assert offline.offline_url(tmp_path) is None
    (tmp_path / "run").mkdir()
    offline.port_path(tmp_path).write_text("18123")
    assert offline.offline_url(tmp_path) == "http://127.0.0.1:18123/v1"
    offline.port_path(tmp_path).write_text("")
    assert offline.offline_url(tmp_path) is None


def test_missing_weights_name_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "WEIGHTS_PACKAGE", "no_such_package_of_weights")
    assert offline.weights_path() is None
    with pytest.raises(ConfigError, match=r"requirements-offline\.txt"):
        offline.main(["--port", "1"])
