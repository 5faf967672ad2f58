"""Finds model servers that already run on this machine, on the ports they usually have."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException

PORTS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
TIMEOUT = 0.3
MAX_ANSWER = 1_000_000


@dataclass(frozen=True)
class LocalServer:
    """An OpenAI-compatible server: a name for people, its ``…/v1`` URL and its model ids."""

    name: str
    base_url: str
    models: tuple[str, ...]


def find_local_models(
    *, skip_port: int | None = None, ports: dict[str, int] | None = None
) -> list[LocalServer]:
    """Every server on loopback that lists at least one model; ``skip_port`` is the portal's own.

    Takes TIMEOUT s at most, for all ports together.
    """
    wanted = [(name, port) for name, port in (ports or PORTS).items() if port != skip_port]
    with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
        found = pool.map(lambda item: _probe(*item), wanted)
        return [server for server in found if server is not None]


def _probe(name: str, port: int) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    # An empty ProxyHandler: a proxy from the environment has no business with loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{base_url}/models", timeout=TIMEOUT) as answer:
            data = json.loads(answer.read(MAX_ANSWER))["data"]
        models = tuple(str(entry["id"]) for entry in data)
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return None
    return LocalServer(name, base_url, models) if models else None
