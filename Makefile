# The same steps without make are in README.md.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup run test test-slurm soak lint docs golden clean
setup: $(STAMP)

$(STAMP): pyproject.toml requirements-dev.txt $(wildcard plugins/*/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $(STAMP)

run: setup        ## the quickstart recipe, end to end
	$(BIN)/inferlane run examples/quickstart.yaml

test: setup       ## all tests that need nothing but this checkout
	$(BIN)/python -m pytest -n 4

SLURM_PACKAGES := slurm-wlm munge iproute2 gcc libc6-dev libslurm-dev
test-slurm: setup ## launcher tests on a real Slurm cluster of this machine: root on Debian; elsewhere they say what they skip
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! dpkg -s $(SLURM_PACKAGES) >/dev/null 2>&1; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SLURM_PACKAGES); fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-real.txt
	$(BIN)/python -m pytest -m slurm -rs tests/slurm

SOAK   ?= 200
soak: setup       ## random drills in a row: SOAK=20 how many, SEED=... which, ONLY=... one of them, PARALLEL=1
	$(BIN)/python -m tests.soak --drills $(SOAK) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(PARALLEL),--parallel $(PARALLEL))

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: setup       ## generated references are current, and every page builds
	$(BIN)/python -m tools.references --check
	$(BIN)/mkdocs build --strict --quiet

golden: setup     ## write the golden plans and the generated references anew; read the diff
	$(BIN)/python -m pytest tests/golden --update-golden -q
	$(BIN)/python -m tools.references

clean:
	rm -rf $(VENV) outputs site .mypy_cache .ruff_cache .pytest_cache .hypothesis
