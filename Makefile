# The commands a newcomer needs. Each says what it does with `make help`.

PYTHON := .venv/bin/python
RUN := .venv/bin/

# Kept even where Python is told not to: every program that a test starts would compile its libraries again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup dev test faults everything loaded repeat deliveries ledgers hostile lists large corpus check generate bench quickstart lock

help: ## list these commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## install the locked Python packages and the API reference viewer
	uv venv --quiet --allow-existing .venv
	uv pip sync --quiet --python .venv --require-hashes --compile-bytecode requirements.lock
	uv pip install --quiet --python .venv --no-deps --editable . --editable clients/python --editable clients/cli
	npm ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error
	npm ci --prefix clients/typescript --ignore-scripts --no-audit --no-fund --loglevel=error

dev: ## start every engine and the API; Ctrl-C stops them
	$(RUN)steadctl dev up

# One more than a machine with two cores has: while the test of one process waits, the others use the cores.
PYTEST = $(RUN)pytest --numprocesses=3 $(if $(SELECT),--select=$(SELECT))
FEATURE_TESTS = $(wildcard tests/control/$(FEATURE) tests/$(FEATURE)) tests/contract tests/matrix

test: ## run the tests; SELECT=changed: what a change may affect and a part of the rest; FEATURE=webhooks: one feature
	$(PYTEST) $(if $(FEATURE),--feature=$(FEATURE) $(FEATURE_TESTS),--ignore=tests/faults/jobs)

faults: ## kill, refuse and restart at every step of every job; SELECT=changed as above
	$(PYTEST) tests/faults/jobs

everything: ## run tests and faults together; SELECT=changed as above
	$(PYTEST)

loaded: ## run everything twice in a row, beside a process that never sleeps
	@nice -n 15 $(PYTHON) -c 'while True: pass' & trap "kill $$!" EXIT; $(MAKE) everything && $(MAKE) everything

repeat: ## run the few tests that failed in the last run again, one after the other; SELECT as in that run
	$(RUN)pytest $(if $(SELECT),--select=$(SELECT)) --repeat-failed

deliveries: ## 100,000 webhook events, bad receivers, workers killed every ten seconds
	STEAD_DELIVERIES=100000 $(RUN)pytest tests/faults/webhooks

ledgers: ## 5,000,000 lines of three nodes, something killed every five seconds, the object store down for a minute
	STEAD_LEDGER_ROWS=5000000 $(RUN)pytest -s tests/faults/insights

hostile: ## one free account attacks everything that tenants share for five minutes; prints its neighbour's figures
	STEAD_ATTACK_SECONDS=300 $(RUN)pytest -s tests/abuse/test_hostile_tenant.py

lists: ## read every list with a million sites and ten million jobs of other owners; prints rows and times
	STEAD_OTHER_SITES=1000000 $(RUN)pytest --timeout=7200 tests/control/scale/test_lists.py

large: ## clone and push a WordPress site with 200,000 posts and 2 GB of uploads; prints the times
	STEAD_LARGE_POSTS=200000 $(RUN)pytest -s tests/node/wordpress/test_large_site.py

corpus: ## scan more than 20,000 clean files and all malicious samples; prints false alarms and misses
	STEAD_CLEAN_FILES=20000 $(RUN)pytest -s --timeout=3600 tests/node/scanning/test_clean_corpus.py tests/node/scanning/test_detection.py

check: ## lint, types, architecture, generated files
	$(RUN)ruff check
	$(RUN)ruff format --check
	$(RUN)mypy
	$(RUN)lint-imports --no-logo
	$(RUN)steadctl generate --check
	$(PYTHON) -m clients.generator --check

generate: ## write openapi/v1.json, packages.txt, docs/errors, docs/events, the clients and the generated tables from the declarations
	$(RUN)steadctl generate
	$(PYTHON) -m clients.generator

bench: ## run the benchmarks; ONLY=name for one
	$(PYTHON) -m bench $(ONLY)

quickstart: ## follow docs/quickstart.md from a clone of the last commit, and on an installation that runs; prints the times
	$(PYTHON) -m bench.quickstart

lock: ## resolve the dependencies again
	uv pip compile --quiet --universal --generate-hashes --extra engines --group dev pyproject.toml -o requirements.lock
