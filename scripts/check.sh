#!/bin/sh
# The fast checks: format, lint, locks, links, layers, types, migrations, settings. No services.
# All of them run, also after one has failed; the exit code tells.
set -u
cd "$(dirname "$0")/.."
bin=.venv/bin
status=0
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HERMES_HOME="$home" HERMES_ENV_FILE=/dev/null

step() {
    echo "== $*"
    "$@" || status=1
}
step $bin/ruff format --check --quiet .
step $bin/ruff check --quiet .
step $bin/python scripts/check_lock.py
step $bin/python scripts/check_links.py
step $bin/lint-imports
step $bin/mypy hermes_site accounts memory tools agents gateway scripts
step $bin/python manage.py makemigrations --check --dry-run
step $bin/python manage.py check
exit $status
