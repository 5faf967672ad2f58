#!/bin/sh
# Everything CI runs: the checks, every test on SQLite and in Chromium, then the tests that
# touch rows once more on PostgreSQL. All of it runs, also after a failure; the exit code tells.
# A test that hangs is interrupted, so that it can clean up: 40 minutes at most, all in all.
set -u
cd "$(dirname "$0")/.."
bin=.venv/bin
status=0

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HERMES_HOME="$home" HERMES_ENV_FILE=/dev/null
unset DATABASE_URL REDIS_URL

scripts/check.sh || status=1
scripts/install_chromium.sh || true

echo "== tests on SQLite, and in Chromium"
timeout --foreground --signal=INT --kill-after=30 1500 $bin/python -m pytest tests "$@" || status=1
echo "== tests of rows on PostgreSQL"
timeout --foreground --signal=INT --kill-after=30 700 $bin/python scripts/with_postgres.py \
    $bin/python -m pytest tests -m rows "$@" || status=1

if [ $status -eq 0 ]; then echo "== all passed"; else echo "== FAILED"; fi
exit $status
