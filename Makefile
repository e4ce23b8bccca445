# Everything runs from a virtual environment that the first target to need it makes by itself, from the versions
# pinned in dev.lock. `PYTHON=python3.12 make test` uses that Python, in an environment of its own (.venv-3.12).

PYTHON ?=
VENV := $(if $(PYTHON),.venv-$(patsubst python%,%,$(notdir $(PYTHON))),.venv)
READY := $(VENV)/.ready
BIN := $(VENV)/bin

# Container images set it, and each of hundreds of processes would compile all of its imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:
	@echo 'make demo    an operator that survives lost connections and a 410, against the simulated API server'
	@echo 'make test    the tests'
	@echo 'make check   the gate: format, lint, types, layers, tests (on every installed Python)'
	@echo 'make format  format the code as the gate requires'
	@echo 'make bench   benchmarks; make bench NAME="import.kubeproto --quick" runs one'
	@echo 'make kinds   generate the built-in kinds; ARGS="--server http://127.0.0.1:8001" reads a live server'
	@echo 'make real    the tests that a real API server must pass too, built with Go'
	@echo 'make real-all  the same against every release from 1.30 on; make real KUBERNETES=1.33 uses one'
	@echo 'make churn   mirrors of a real API server that crashes, compacts and loses connections'
	@echo 'make record  record the conversations of the tests with the real API server again'
	@echo 'make probe   read defaults and rules of built-in kinds from the real API server again'
	@echo 'make facts   record the meaning of values in Go libraries again'
	@echo 'make verdicts  record verdicts of the real API server on random classes again'
	@echo 'make cel     record outcomes of CEL rules on the real API server, and write the table in docs/cel.md'
	@echo 'make access  record authorization verdicts of the real API server again'
	@echo 'make workloads  record the behaviour of the real controllers again'
	@echo 'make admission  record webhook calls of the real API server again'
	@echo 'make cases   record responses of the real API server to the cases of tests/sim again'
	@echo 'make releases  read the kinds of older releases of Kubernetes again; ARGS=1.33 reads one'
	@echo 'make fuzz    fuzz each parser; make fuzz SECONDS=300 FUZZ="watch page" for longer, or some'
	@echo 'make storm   whole programs under faults that a seed chooses; SEEDS=0:100, HOURS=8, FAULTS=1000000'
	@echo 'make mutants apply deliberate mistakes one at a time, and report the test that detects each'
	@echo 'make dist    build wheels and sdists, and use them in clean environments on every installed Python'
	@echo 'make peers   install other clients (Python, Go, Rust), which the tests run against kubeproto serve'
	@echo 'make browser  install Chromium for tests of web pages (Debian, as root)'
	@echo 'make soak    kill kubeproto serve 200 times under load, keep 1,100 watches open on it, kill each'
	@echo '             operator of the examples 100 times, send a gibibyte to pods and back, stop a leader 18 times'
	@echo 'make map     enter new tests in tests/conformance.toml by the ids in their names'
	@echo 'make pages   write the generated figures, lists and tables into the pages of the documentation'
	@echo 'make ready   set up $(VENV) and do nothing else'
	@echo 'make docs    build the documentation in .cache/docs, and check every link in it'
	@echo 'make lock    pin the newest versions that pyproject.toml allows in dev.lock and docs.lock'

.PHONY: ready
ready: $(READY)

# 3.11 comes first because it is the oldest that must work.
$(READY): pyproject.toml simulator/pyproject.toml dev.lock tools/environment.py
	@for python in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        exec $$python tools/environment.py $(VENV); \
	    fi; \
	done; \
	echo 'cannot set up: $(or $(PYTHON),python3) is not there, or is older than Python 3.11.' \
	    'Install one (on Debian 12: apt-get install python3.11 python3.11-venv),' \
	    'or name yours: PYTHON=/path/to/python3.12 make test' >&2; \
	exit 1

# All tests share the cores; ARGS="tests/control -x" runs some in this process alone.
PARALLEL := -n auto --dist worksteal
.PHONY: test
test: $(READY)
	@$(BIN)/python -m pytest $(or $(ARGS),$(PARALLEL))

.PHONY: demo
demo: $(READY)
	@$(BIN)/python examples/echo/demo.py

.PHONY: check
check: $(READY)
	@$(BIN)/python tools/gate.py

.PHONY: format
format: $(READY)
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .

.PHONY: kinds
kinds: $(READY)
	@$(BIN)/python -m tools.kinds $(ARGS)

# The real API server is built once, with Go, into .cache/realserver; KUBERNETES=1.33 takes an older release.
# What a real server does with built-in kinds, for the simulated one; two minutes.
.PHONY: probe
probe: $(READY)
	@$(BIN)/python -m tools.probing

.PHONY: real churn record facts verdicts cel access admission workloads cases releases
real churn record facts verdicts cel access admission workloads cases releases: $(READY)
	@$(BIN)/python tests/realserver/run.py $@ $(ARGS)

# Each release that can be built, the oldest first; the first time takes some minutes of building for each.
.PHONY: real-all
real-all: $(READY)
	@for release in $(sort $(basename $(notdir $(wildcard tests/realserver/releases/*.mod)))) 1.36; do \
	    echo "Kubernetes $$release"; KUBERNETES=$$release $(BIN)/python tests/realserver/run.py real $(ARGS) || exit 1; \
	done

# New seeds unless SEEDS=from:to says which; ARGS="--show 7" tells what happens in one, "--shrink 7" makes it small.
.PHONY: storm
storm: $(READY)
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(BIN)/python -m storm \
	    $(if $(SEEDS),--seeds $(SEEDS)) $(if $(HOURS),--hours $(HOURS)) $(if $(FAULTS),--faults $(FAULTS)) $(ARGS)

# Some by name or by area: ARGS="watching.toml told-deletion-shows-the-state-before-it".
.PHONY: mutants
mutants: $(READY)
	@$(BIN)/python tests/mutants/run_mutants.py $(ARGS)

# Each in an environment of its own in .cache/peers; cold builds in Go and Rust take up to a quarter of an hour.
.PHONY: peers
peers: $(READY)
	@$(BIN)/python -m benchmarks._peer_programs

# ARGS="--kills 20 --seconds 30" for a shorter one.
.PHONY: soak
soak: $(READY)
	@$(BIN)/python tests/serve/soak.py $(ARGS)
	@$(BIN)/python tests/pods/soak_pods.py $(ARGS)
	@PYTHONPATH=tests $(BIN)/python tests/programs/soak_programs.py
	@$(BIN)/python tests/programs/soak_leadership.py $(ARGS)

# Debian's own: the library that drives it would download another one. Elsewhere: install what is called chromium.
.PHONY: browser
browser:
	@command -v chromium || { apt-get update --quiet --quiet \
	    && DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends chromium; }

# Enters in tests/conformance.toml the tests that carry an id of the conformance list in their name.
.PHONY: map
map: $(READY)
	@$(BIN)/python tests/conformance_map.py

# Coverage-guided, in an environment of its own; FUZZ="watch page" picks targets.
SECONDS ?= 60
.PHONY: fuzz
fuzz: $(READY)
	@$(BIN)/python tests/fuzz/run.py $(SECONDS) $(FUZZ)

.PHONY: bench
bench: $(READY)
	@$(BIN)/python -m benchmarks $(NAME)

# Installs from the package index; nothing is published.
.PHONY: dist
dist: $(READY)
	@$(BIN)/python -m tools.release

# In an environment of its own: nothing else needs Sphinx.
.venv-docs/.ready: pyproject.toml docs.lock tools/environment.py | $(READY)
	@$(BIN)/python tools/environment.py .venv-docs docs.lock

# Figures of the published measurement, dependencies, lists of releases and decisions, the resync diagram.
.PHONY: pages
pages: $(READY)
	@$(BIN)/python -m tools.pages

.PHONY: docs
docs: .venv-docs/.ready
	@.venv-docs/bin/python -m sphinx --jobs auto --fail-on-warning --keep-going --quiet docs .cache/docs
	@echo 'the documentation is built: .cache/docs/index.html'

# uv can write a lock for every platform; it gets a folder of its own.
.PHONY: lock
lock: $(READY)
	@$(BIN)/python -m venv .cache/uv && .cache/uv/bin/pip install --quiet 'uv>=0.13,<0.14'
	@$(BIN)/python tools/lock.py .cache/uv/bin/uv
