"""Loaded before Django reads its settings: a home of this run's own, no foreign configuration."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

FOREIGN = ("OPENAI_", "ANTHROPIC_", "OPENROUTER_", "HERMES_", "OIDC_", "EMAIL_")
# What a test run may be told from outside.
KEPT = {"HERMES_TRIALS", "HERMES_BENCH"}

for _name in list(os.environ):
    if _name.startswith(FOREIGN) and _name not in KEPT:
        del os.environ[_name]
os.environ["HERMES_HOME"] = tempfile.mkdtemp(prefix="hermes-test-")
os.environ["HERMES_ENV_FILE"] = os.devnull
atexit.register(shutil.rmtree, os.environ["HERMES_HOME"], ignore_errors=True)
