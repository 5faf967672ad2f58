#!/bin/sh
# Makes sure that Chromium is there, where that is possible: it is not a Python package.
set -u
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "== installing Chromium for the browser tests"
    log=$(mktemp)
    if apt-get update -q >"$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive apt-get install -qy chromium >>"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
fi
echo "Chromium is not installed and cannot be installed from here: the browser tests will fail." >&2
echo "Install the package chromium, or Google Chrome, and run make test again." >&2
exit 1
