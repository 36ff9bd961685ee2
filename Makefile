PYTHON ?= python3
VENV ?= .venv
DATA ?= ../shared/vot2016-20
BENCH_OUT ?= out/bench20
PROCESSES ?= 1
TEST_PROCESSES ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
VOT_VENV := .venv-vot
VOT_STAMP := $(VOT_VENV)/.installed
AUDIT_VENV := .venv-audit
AUDIT_STAMP := $(AUDIT_VENV)/.installed
PIP := $(BIN)/python -m pip -qq --no-input --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup vot demo test check format bench20 studio bench-studio bench-speed gate gate-update \
	torture torture-share audit wheel sbom clean

help:  ## Show these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into $(VENV) (torch is about 200 MB)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt -e ".[dev,ncnn,studio]"
	@# Both builds of OpenCV share one folder: the contrib one, with CSRT and KCF, goes over the plain one.
	@$(PIP) install -c constraints.txt --no-deps opencv-contrib-python-headless
	@touch $@

$(TEST_STAMP): $(STAMP)
	@echo "installing what the tests compare with and show things in (Ray, got10k, TraX, dlib, rerun, supervision, the studio)"
	@$(PIP) install -c constraints.txt -e ".[dev,ncnn,ray,vot,got10k,rerun,supervision,notebook,studio]"
	@$(PIP) install -c constraints.txt --no-deps dlib-bin
	@# No wheel for this Python or system: the plain engine fuzzes all the same.
	@$(PIP) install -c constraints.txt --only-binary :all: -e ".[fuzz]" 2> /dev/null || echo "no atheris here: fuzzing is not led by coverage"
	@touch $@

# VOT's toolkit wants other versions of our packages: it gets an environment of its own.
$(VOT_STAMP): constraints-vot.txt
	@echo "installing VOT's toolkit into $(VOT_VENV)"
	@test -x $(VOT_VENV)/bin/python || $(PYTHON) -m venv $(VOT_VENV)
	@$(VOT_VENV)/bin/python -m pip -qq --no-input --disable-pip-version-check install --no-deps -r constraints-vot.txt
	@touch $@

# pip-audit needs packages that have no place in the environment that it looks at.
$(AUDIT_STAMP): constraints-audit.txt
	@echo "installing pip-audit into $(AUDIT_VENV)"
	@test -x $(AUDIT_VENV)/bin/python || $(PYTHON) -m venv $(AUDIT_VENV)
	@$(AUDIT_VENV)/bin/python -m pip -qq --no-input --disable-pip-version-check install --no-deps -r constraints-audit.txt
	@touch $@

vot: $(VOT_STAMP)  ## Install VOT's own toolkit beside ours, into .venv-vot

setup: $(STAMP)  ## Make a ready .venv and fetch the weights
	@$(BIN)/stp weights

demo: setup  ## Track the rabbit's head in a real clip, into out/demo
	@$(BIN)/stp demo --out out/demo

test: setup $(TEST_STAMP) $(VOT_STAMP) $(AUDIT_STAMP)  ## Run all tests, with coverage
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) --cov --cov-fail-under=90

check: $(TEST_STAMP)  ## Lint, formatting, types, layering and exported names, as CI does
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_layering.py tests/test_public_names.py

format: $(STAMP)  ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench20: setup  ## Compare with CSRT on the sequences in DATA, resumable
	@$(BIN)/stp bench run stp:default "stp:default?alpha=1&colour_weight=0" opencv:csrt \
		--data $(DATA) --out $(BENCH_OUT) --processes $(PROCESSES)
	@$(BIN)/stp bench score --data $(DATA) --out $(BENCH_OUT)

studio: setup  ## Open the studio, a web page on this computer
	@$(BIN)/stp studio

bench-studio: setup  ## Compare the studio's speed with the command line's
	@$(BIN)/python -m benchmarks.studio_speed

bench-speed: setup  ## Measure speed against CSRT, and all other figures about speed, in one table
	@$(BIN)/python -m benchmarks.speed

gate: setup  ## Compare with the committed figures on a few short sequences in DATA
	@$(BIN)/stp bench gate --data $(DATA) --processes 2

gate-update: setup  ## Measure them again, and write the file to be committed
	@$(BIN)/stp bench gate --data $(DATA) --processes 2 --update

torture: setup $(TEST_STAMP)  ## Do to the tracker all that could break it, in less than 30 minutes
	@$(BIN)/python -m torture

torture-share: setup $(TEST_STAMP)  ## The same, five minutes of it, as CI does
	@$(BIN)/python -m torture --minutes 5 --out out/torture-share.json

audit: $(TEST_STAMP) $(AUDIT_STAMP)  ## Are all dependencies pinned, and is anything known against them?
	@$(BIN)/python -m tools.audit --pip-audit $(AUDIT_VENV)/bin/pip-audit

wheel: $(STAMP)  ## Build the wheel twice into dist, and compare
	@$(BIN)/python -m tools.wheel

sbom: wheel  ## Write what the wheel is made of, as CycloneDX JSON beside it
	@$(BIN)/python -m tools.sbom

clean:  ## Remove all that was made here, the environments included
	rm -rf $(VENV) $(VOT_VENV) $(AUDIT_VENV) out build dist src/*.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks torture tools -name __pycache__ -type d -prune -exec rm -rf {} +
