PYTHON ?= python3
VENV ?= .venv
DATA ?= ../shared/vot2016-20
BENCH_OUT ?= out/bench20
PROCESSES ?= 1

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip -qq --no-input --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench20 clean

help:  ## Show these targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into $(VENV) (torch is about 200 MB)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt -e ".[dev]"
	@# Both builds of OpenCV share one folder: the contrib one, with CSRT and KCF, goes over the plain one.
	@$(PIP) install -c constraints.txt --no-deps opencv-contrib-python-headless
	@touch $@

setup: $(STAMP)  ## Make a ready .venv and fetch the weights
	@$(BIN)/stp weights

demo: setup  ## Track the rabbit's head in a real clip, into out/demo
	@$(BIN)/stp demo --out out/demo

test: setup  ## Run all tests, with coverage
	@$(BIN)/python -m pytest --cov --cov-fail-under=90

check: $(STAMP)  ## Lint, formatting, types, layering and exported names, as CI does
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_layering.py tests/test_public_names.py

format: $(STAMP)  ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench20: setup  ## Compare with CSRT on the sequences in DATA, resumable
	@$(BIN)/stp bench run stp:default "stp:default?alpha=1" opencv:csrt \
		--data $(DATA) --out $(BENCH_OUT) --processes $(PROCESSES)
	@$(BIN)/stp bench score --data $(DATA) --out $(BENCH_OUT)

clean:  ## Remove all that was made here, the environment included
	rm -rf $(VENV) out build dist src/*.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
