# make up: the whole portal in one terminal. make test: everything CI runs.

PYTHON ?= $(shell scripts/find_python.sh)
VENV := .venv
BIN := $(VENV)/bin
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --no-header

.PHONY: up run check test bench bench-faults docs screenshots lock clean

up: $(VENV)/.installed
	@$(BIN)/python manage.py up --tied

run:
	@$(BIN)/python manage.py up --tied

check: $(VENV)/.installed-dev
	@scripts/check.sh

test: $(VENV)/.installed-dev
	@scripts/test.sh

bench: $(VENV)/.installed-dev
	@$(BIN)/python -m bench.streaming
	@$(BIN)/python -m bench.recovery

# Ten rounds of every crash test: 320 runs through random kills, 170 through fault points.
bench-faults: $(VENV)/.installed-dev
	@HERMES_TRIALS=10 $(BIN)/python -m pytest tests/stack/test_crashes.py

docs: $(VENV)/.installed-dev
	@$(BIN)/python manage.py spectacular --file docs/openapi.yaml
	@$(BIN)/python scripts/check_links.py

screenshots: $(VENV)/.installed-dev
	@$(BIN)/python scripts/screenshots.py

lock:
	$(LOCK) -o requirements.txt
	$(LOCK) --group dev -c requirements.txt -o requirements-dev.txt

clean:
	rm -rf $(VENV) staticfiles test-results .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt requirements-offline.txt | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps -r requirements-offline.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-dev.txt
	@touch $@
