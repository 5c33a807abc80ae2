# Every target does its own set-up in .venv; nothing outside this folder is touched, except that
# `make test` and `make bench` may install software Vulkan drivers with apt when run as root.

VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON_IN_VENV := $(VENV)/Scripts/python.exe
else
PYTHON_IN_VENV := $(VENV)/bin/python
endif

# Options of the two programs a person runs: make demo DEMO="--image photo.jpg"
DEMO ?=
BENCH ?=
# Where the libraries are that `make bench-peers` and the like compare with; empty: a cache folder
PEERS ?=
PEERS_OPTION = $(if $(PEERS),--peers $(PEERS))
# Options of pytest: make test PYTEST="-k matmul"
PYTEST ?=
WORKERS ?= 2

.PHONY: demo test lint unit wheel-check docs clean help \
	bench bench-peers bench-targets bench-scaling bench-table coverage-page

help:
	@echo "make demo    restore a photograph on the best device here (options: DEMO=\"--steps 50\")"
	@echo "make test    formatting, lint, types, the wheel, and the tests on every adapter"
	@echo "make lint    formatting, lint and types alone"
	@echo "make unit    the tests alone (options: PYTEST=\"-k matmul\" WORKERS=4)"
	@echo "make wheel-check  builds the wheel and uses it in a fresh environment"
	@echo "make bench   host cost per operation, transfers, and whole workloads against NumPy"
	@echo "     bench-peers    the workloads in other libraries too, which it installs (PEERS=folder)"
	@echo "     bench-targets  every target of this library's speed: ours, the reference, met or not"
	@echo "     bench-scaling  time against size and op count: writes docs/scaling.md and its plot"
	@echo "     bench-table    measures with the peers; writes the README's table and its plot"
	@echo "make coverage-page  runs every function on every dtype and adapter: writes docs/coverage.md"
	@echo "make docs    the documentation site, in docs/_build/html"
	@echo "make clean   removes .venv and everything built"

demo: $(VENV)/.with-demo
	@$(PYTHON_IN_VENV) -m tenferro_wgpu $(DEMO)

# pytest comes last, so that its summary is the last thing on the screen.
test: lint wheel-check unit

lint: $(VENV)/.with-test
	$(PYTHON_IN_VENV) -m ruff format --check .
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m mypy

wheel-check: $(VENV)/.with-test
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) scripts/check_wheel.py

unit: $(VENV)/.with-test
	bash scripts/ensure_vulkan.sh
	bash scripts/run_tests.sh $(PYTHON_IN_VENV) -n $(WORKERS) $(PYTEST)

bench: $(VENV)/.with-bench
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) -m benchmarks $(BENCH)

# Nothing of the other libraries enters .venv; the targets below work without them as well.
bench-peers: $(VENV)/.with-bench
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) -m benchmarks setup-peers $(PEERS_OPTION)
	$(PYTHON_IN_VENV) -m benchmarks run --only workloads --peers $(PEERS) $(BENCH)

bench-targets: $(VENV)/.with-bench
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) -m benchmarks targets $(PEERS_OPTION) $(BENCH)

bench-scaling: $(VENV)/.with-bench
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) -m benchmarks scaling --page $(BENCH)

bench-table: $(VENV)/.with-bench
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) -m benchmarks table $(PEERS_OPTION) $(BENCH)

coverage-page: $(VENV)/.with-test
	bash scripts/ensure_vulkan.sh
	$(PYTHON_IN_VENV) scripts/coverage_page.py

docs: $(VENV)/.with-docs
	$(PYTHON_IN_VENV) -m sphinx -W -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) dist build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PYTHON_IN_VENV):
	@bash scripts/make_venv.sh $(VENV) >&2

# One stamp per set of extras: it goes stale when the requirements change. What set-up has to say
# goes to stderr, so that `make -s` and `make demo DEMO=--json` print results alone.
$(VENV)/.with-demo: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing .[demo] in $(VENV)" >&2
	@$(PYTHON_IN_VENV) -m pip install --quiet --disable-pip-version-check -e ".[demo]" >&2
	@touch $@

$(VENV)/.with-test: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing .[test,demo] in $(VENV)" >&2
	@$(PYTHON_IN_VENV) -m pip install --quiet --disable-pip-version-check -e ".[test,demo]" >&2
	@touch $@

$(VENV)/.with-bench: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing .[bench] in $(VENV)" >&2
	@$(PYTHON_IN_VENV) -m pip install --quiet --disable-pip-version-check -e ".[bench]" >&2
	@touch $@

$(VENV)/.with-docs: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing .[docs] in $(VENV)" >&2
	@$(PYTHON_IN_VENV) -m pip install --quiet --disable-pip-version-check -e ".[docs]" >&2
	@touch $@
