# BenchHub. `make` alone says what there is.
PYTHON ?= python3
RUN := .venv/bin/python
# Not the one of .venv where that was laid for a Python that is gone.
ANY_PYTHON = $(shell test -x $(RUN) && echo $(RUN) || echo $(PYTHON))
MAKEFLAGS += --no-print-directory
# Whatever the machine says: dozens of processes of the tests and of the demonstration would each compile everything.
unexport PYTHONDONTWRITEBYTECODE
# These would lead it to other packages, or away from those of the clone, or end it at the first warning.
unexport PYTHONPATH PYTHONHOME PYTHONSAFEPATH PYTHONWARNINGS PYTHONOPTIMIZE PYTHONINSPECT PYTHONPLATLIBDIR

.PHONY: help demo stop test check clean venv venv-dev bench-overhead bench-memory bench-pages bench-pricing bench-fleet
.PHONY: bench-search bench-decide bench-coverage bench-tatp bench-api bench-log bench-slow bench-warehouse bench-telemetry
.PHONY: test-api test-whole test-matrix check-types check-security check-others bench-viewers faults faults-clusters faults-servers faults-settings soak pictures openapi sbom

help:
	@echo "make demo         start BenchHub with a target of its own, measure, and serve until Ctrl-C"
	@echo "make demo ONCE=1  the same, but end when the experiment is finished and its page was fetched"
	@echo "make demo SECONDS=30 REPEATS=5 LEVELS='1 8 32'  runs so long, not 3 s, so many of each, not 3, at these clients"
	@echo "make demo TUNING=1  the same with a tuning series, step by step, on a cluster of its own (5 minutes)"
	@echo "make stop         end a demonstration that runs, or what is left of one that was killed"
	@echo "make test         install what the tests need, then run all checks and tests"
	@echo "make test SHUFFLE=0  the same, the tests of each file in the order in which they stand, not in a random one"
	@echo "make test-matrix  run the tests under Python 3.11 to 3.15 (PYTHONS=3.13 and ROOMS=benchhub/analysis choose)"
	@echo "make test-api     make up requests to the API for some minutes, each field wrong in every way"
	@echo "make test-whole   run whole what 'make test' runs in part: each page in light and dark, wide and narrow; versions; sizes"
	@echo "make faults       inject every fault for real and count executions (docs/faults.md; an hour)"
	@echo "make faults-clusters  faults at any moment of runs on clusters of BenchHub's own (FAULTS=200)"
	@echo "make faults-servers   faults at any moment of runs that change somebody's server (FAULTS=200)"
	@echo "make faults-settings  workers, jobs, servers and lines lost at each step of runs that change settings (SEEDS=200)"
	@echo "make soak         random faults over 200 short runs on 8 hosts, within 10 minutes"
	@echo "make pictures     take docs/pictures from the demonstration"
	@echo "make bench-...    overhead, telemetry, log, memory, pages, pricing, fleet, search, decide, coverage, tatp, api, slow, viewers, warehouse: a peer or a limit"
	@echo "make openapi      write docs/openapi.yaml anew from the code"
	@echo "make check        ruff, mypy, djlint, bandit, a scan for secrets, and known faults of packages only"
	@echo "make sbom         print what a release is made of, as CycloneDX"
	@echo "make clean        stop, and remove .venv and everything the demonstration has written"
	@echo "PYTHON=python3.12 chooses the Python that makes .venv (3.11 or later)"

demo: venv
	@exec $(RUN) -m benchhub.demo up $(if $(filter-out 0,$(ONCE)),--once) $(if $(filter-out 0,$(TUNING)),--tuning) \
		--levels='$(LEVELS)' --repeats='$(REPEATS)' --seconds='$(SECONDS)'

stop:
	@$(ANY_PYTHON) -m benchhub.demo stop

test: venv-dev
	@$(RUN) tests/packages.py
	@# The checks that take longest are run beside the others and the tests, which often wait. What they say is printed
	@# behind all that the tests do.
	@$(MAKE) -j 3 slow-checks checked-tests; code=$$?; cat .venv/slow-checks; exit $$code

.PHONY: slow-checks checked-tests
slow-checks:
	@$(MAKE) --output-sync=target check-types check-security > .venv/slow-checks 2>&1

checked-tests: check-others
	@# There is no database yet, and the check needs none: only the warning about that is silenced.
	$(RUN) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	@# There are as many processes as cores already: threads of the linear algebra would wait for each other, spinning.
	@# What a test makes gets no part in the three jobs.
	MAKEFLAGS= OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder \
		$(if $(filter 0,$(SHUFFLE)),-p no:randomly)

test-matrix: python
	@$(PYTHON) tests/packages.py
	@$(PYTHON) tests/matrix.py $(PYTHONS) $(ROOMS)

test-api: venv-dev
	API_EXAMPLES=$(or $(EXAMPLES),40) $(RUN) -m pytest -n auto benchhub/api/tests/test_contract.py

# Whatever asks for WHOLE, or is marked `whole`; each of these files runs a part of it in `make test` too.
test-whole: venv-dev
	@$(RUN) tests/packages.py
	WHOLE=1 $(RUN) -m pytest -n auto --dist loadfile -p no:randomly \
		$(or $(FILES),$$(grep -rlE 'WHOLE|mark\.whole' --include='test_*.py' benchhub runners tests))

bench-overhead: venv
	@$(RUN) -m benchmarks.overhead

# ROUNDS=100 repeats more often than 40 times.
bench-log: venv
	@$(RUN) -m benchmarks.log_cost $(if $(ROUNDS),--rounds $(ROUNDS))

# ROUNDS=60 repeats more often than 30 times.
bench-telemetry: venv
	@$(RUN) -m benchmarks.telemetry_cost $(if $(ROUNDS),--rounds $(ROUNDS))

bench-viewers: venv
	@$(RUN) -m benchmarks.viewers

bench-slow: venv
	@$(RUN) -m benchmarks.slow

bench-warehouse: venv
	@$(RUN) -m benchmarks.warehouse $(if $(SIZES),--sizes $(SIZES)) $(if $(KILLS),--kills $(KILLS)) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

bench-memory: venv
	@$(RUN) -m benchmarks.memory

bench-pages: venv-dev
	@$(RUN) -m benchmarks.pages

# TARGETS=100 SECONDS=30 scales it down.
bench-fleet: venv
	@$(RUN) -m benchmarks.fleet $(if $(TARGETS),--targets $(TARGETS)) $(if $(SECONDS),--seconds $(SECONDS))

faults: venv-dev
	@$(RUN) tests/packages.py
	WHOLE=1 $(RUN) -m pytest tests/faults --durations=10
	WHOLE=1 CLUSTER_FAULTS=10 SERVER_FAULTS=10 $(RUN) -m pytest runners/clusters/tests/test_faults.py \
		runners/server_settings/tests/test_faults.py

# A fault each at a moment of a run on a cluster of BenchHub's own; SEED=100 takes others.
faults-clusters: venv-dev
	WHOLE=1 CLUSTER_FAULTS=$(or $(FAULTS),200) SEED=$(or $(SEED),0) $(RUN) -m pytest runners/clusters/tests/test_faults.py -q

# The same of runs that change settings of somebody's server.
faults-servers: venv-dev
	WHOLE=1 SERVER_FAULTS=$(or $(FAULTS),200) SEED=$(or $(SEED),0) $(RUN) -m pytest runners/server_settings/tests/test_faults.py -q

# The same by whole BenchHubs, whose worker and lines are lost as well; each line says how a run ended.
faults-settings: venv-dev
	SEEDS=$(or $(SEEDS),200) SEED=$(or $(SEED),0) $(RUN) -m pytest tests/faults/test_settings.py -s

# SEED=123 repeats the choice of faults; LEASE=20 is for a machine that is too busy for a lease of 6 s.
soak: venv
	@$(RUN) -m benchmarks.soak $(if $(SEED),--seed $(SEED)) $(if $(LEASE),--lease $(LEASE))

bench-api: venv
	@$(RUN) -m benchmarks.api
	@$(RUN) -m benchmarks.shared_page

bench-pricing: venv
	@$(RUN) -m benchmarks.pricing
	@$(RUN) -m benchmarks.compared

# One process per core, so one thread in each; memory is kept from step to step, as page faults would take a quarter of
# the time. CURVES=1000, UNSEEN=300 and SEED=123 choose others, PROCESSES=1 leaves cores to others.
bench-search: venv
	@OPENBLAS_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000 $(RUN) -m \
		benchmarks.search $(if $(CURVES),--curves $(CURVES)) $(if $(UNSEEN),--unseen $(UNSEEN)) \
		$(if $(SEED),--seed $(SEED))

bench-decide: venv
	@$(RUN) -m benchmarks.decide

# EXPERIMENTS=5000 for more digits.
bench-coverage: venv
	@$(RUN) -m benchmarks.estimators
	@$(RUN) -m benchmarks.coverage $(if $(EXPERIMENTS),--experiments $(EXPERIMENTS))

# PARTS="ratio parse" runs only these; ROUNDS=40 repeats more often. PARTS=ratio takes 50 minutes with its 9 rounds.
bench-tatp: venv
	@$(RUN) -m benchmarks.tatp $(PARTS) $(if $(ROUNDS),--rounds $(ROUNDS))

pictures: venv-dev
	@$(RUN) -m benchmarks.pictures

openapi: venv
	@SECRET_KEY=none $(RUN) -W ignore::RuntimeWarning manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

sbom: venv
	@$(RUN) -m benchhub.sbom

# Two at a time, what takes longest first.
check: venv-dev
	@$(MAKE) -j 2 --output-sync=target check-types check-security check-others

check-security:
	$(RUN) tests/secret_scan.py
	$(RUN) -m bandit -q -r benchhub runners clients -c pyproject.toml -ll -ii

check-types:
	$(RUN) -m mypy

check-others:
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m djlint frontend/templates --lint --quiet
	$(RUN) tests/known_faults.py
	@# pytest writes the asserts of all tests anew, once, and not in each of its processes.
	@$(RUN) -m pytest --collect-only -qq -p no:randomly > .venv/collected || { cat .venv/collected; exit 1; }

clean:
	@$(ANY_PYTHON) -m benchhub.demo clean
	@$(ANY_PYTHON) -m tests.places
	rm -rf .venv .cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# By this `make stop` finds an installation that goes on although make was killed.
venv venv-dev: export BENCHHUB_INSTALL := $(CURDIR)

venv: python
	@$(PYTHON) benchhub/install.py requirements.txt

# pip would compile 90 MB of Python, of which the tests import a third: that is compiled when it is imported.
venv-dev: python
	@PIP_COMPILE=0 $(PYTHON) benchhub/install.py requirements-dev.txt

.PHONY: python
python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: BenchHub needs Python 3.11 or later."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "BenchHub needs Python 3.11 or later, and $(PYTHON) is $$($(PYTHON) -V): try make PYTHON=python3.12."; exit 1; }
