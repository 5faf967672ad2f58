#!/bin/sh
# The fast checks: format, lint, types, layers, migrations and settings, locks. No services.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HERMES_HOME="$home" HERMES_ENV_FILE=/dev/null

step() {
    echo "== $*"
    "$@"
}
step $bin/ruff format --check --quiet .
step $bin/ruff check --quiet .
step $bin/python scripts/check_lock.py
step $bin/lint-imports --no-logo
step $bin/mypy
step $bin/python manage.py makemigrations --check --dry-run
step $bin/python manage.py check
