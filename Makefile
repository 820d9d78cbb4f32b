# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    its own environment, install, the demo end to end
#   make test    the whole test suite
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= $(SPECTRAGRAM_DATA)

.PHONY: demo test check format bench docs clean

demo: $(VENV)/.installed
	$(BIN)/spectragram demo

test: $(VENV)/.installed-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=json:.coverage.json \
		--cov-report=  # two workers, one BLAS thread each
	$(BIN)/python -m tests.coverage_by_package .coverage.json

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build  # broken references are errors

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-test
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo open docs/_build/index.html

# The stamps make both idempotent: nothing is reinstalled until pyproject.toml changes.
$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit('spectragram needs Python 3.11 or newer, this is %s' % sys.version.split()[0] if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,check,docs]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
