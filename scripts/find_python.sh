#!/bin/sh
# Prints the first Python that the portal runs on (3.11 to 3.13) and that can make a venv.
set -u
wanted='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
for python in python3 python3.13 python3.12 python3.11 python; do
    if "$python" -c "$wanted" >/dev/null 2>&1; then
        echo "$python"
        exit 0
    fi
done
echo "No Python 3.11, 3.12 or 3.13 with venv was found. Install one, or run: make PYTHON=/path/to/python" >&2
# Make goes on with what is printed, and this name tells the reader what is missing.
echo python3.11
exit 1
