"""Runs a command with DATABASE_URL set to a throw-away PostgreSQL: with_postgres.py COMMAND …"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fakes.servers import new_database, postgres_server


def main() -> int:
    with postgres_server() as url:
        environment = os.environ | {"DATABASE_URL": new_database(url)}
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
