# demo, test, test-fast, nightly, check, docs, bench, drills, shows, release: each brings what it needs into .venv and the cache first.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
# Tests start Python some hundred times: with nothing compiled kept, half of their time goes into compiling.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast nightly check docs bench drills shows release format ready clean

demo:
	@sh scripts/ready $(VENV) usable
	@$(BIN)/fawkes demo

# The files with tests in labs: to look for them in all files takes each process seven seconds.
LABS = $$(grep -rlE 'mark\.(lab|hadoop)' tests --include='test_*.py' | sort)
# Only labs need Hadoop: it is fetched beside the tests that only compute.
test:
	@sh scripts/ready $(VENV) ready tests
	@{ $(BIN)/fawkes dist get 3.5.0 && $(BIN)/fawkes dist get 3.4.2; } & \
	$(BIN)/pytest -n 4 --dist worksteal -m "not nightly and not drill and not lab and not hadoop" && wait $$!
	$(BIN)/pytest -n 3 --dist loadscope --no-loadscope-reorder -m "not nightly and not drill and (lab or hadoop)" $(LABS)

# Further cases of what `make test` plays once: the second version of Hadoop, storages, Kerberos, programs, policies, more faults;
# then laws with all of their examples.
nightly: ready
	@$(BIN)/fawkes dist get 3.5.0
	@$(BIN)/fawkes dist get 3.4.2
	$(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder -m nightly
	FAWKES_ALL_EXAMPLES=1 $(BIN)/pytest -n 4 -m "hypothesis and not nightly and not drill and not lab and not hadoop"

test-fast: $(VENV)/ready
	$(BIN)/pytest -n auto -m "not slow and not nightly and not drill and not lab and not hadoop"

check: $(VENV)/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site: build/site/index.html. What is made from the code is made anew first.
docs: $(VENV)/ready
	@$(BIN)/python -m docs.make
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html is the site; any browser shows it, searching included"

bench: ready
	$(BIN)/python -m bench

# Mixtures of faults by seed, simulated and on real Hadoop: make drills SIM=0-9999 REAL=0-99 goes on where it stopped.
SIM := 0-199
REAL := 0-2
# Another failover under each promise; MASTERS=0-23 has every case of lost masters.
MASTERS := 4,16
DRILLS := build/drills
drills: ready
	@$(BIN)/fawkes dist get 3.5.0
	@$(BIN)/fawkes dist get 3.4.2
	$(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder -m drill
	$(BIN)/python -m drills --folder $(DRILLS) doors
	$(BIN)/python -m drills --folder $(DRILLS) doors --kerberos --standby
	$(BIN)/python -m drills --folder $(DRILLS) every-step
	$(BIN)/python -m drills --folder $(DRILLS) sim --seeds $(SIM)
	$(BIN)/python -m drills --folder $(DRILLS) standby --seeds $(SIM)
	$(BIN)/python -m drills --folder $(DRILLS) real --seeds $(REAL)
	$(BIN)/python -m drills --folder $(DRILLS) masters --seeds $(MASTERS)
	$(BIN)/python -m drills --folder $(DRILLS) table

# Long runs on real Hadoop: the paper's micro-experiments in small, calibrating and judging (on another day: judging alone),
# live pairs, deadlines (20 to 40 minutes each), Spark applications under CPU quotas (an hour; root, and control groups of v1),
# twelve tasks under each preemption policy (15 minutes; root), and a Spark application of ten minutes whose nodes come and go.
TRUST := build/trust
shows: ready
	@$(BIN)/fawkes dist get 3.5.0
	$(BIN)/python -m bench.micro
	$(BIN)/python -m bench.sites
	if [ -f $(TRUST)/model.toml ]; then $(BIN)/python -m bench.trust --model $(TRUST)/model.toml; \
	else rm -rf $(TRUST); $(BIN)/python -m bench.trust --keep $(TRUST); fi
	$(BIN)/python -m bench.pairs --model $(TRUST)/model.toml
	$(BIN)/python -m bench.deadlines
	$(BIN)/python -m bench.ontime
	$(BIN)/python -m bench.twelve
	$(BIN)/python -m bench.streams
	FAWKES_SHOW_S=600 $(BIN)/pytest -s tests/e2e/spark/test_leaving.py -k two_grows

# Wheel and source archive in dist/, checked and tried in empty environments; packages come from the index that pip uses.
release: $(VENV)/ready
	@PYTHON=$(BIN)/python sh scripts/release

format: $(VENV)/ready
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Java, Maven and what the lab needs (reported, or installed where that is allowed), Python's packages, Hadoop's jars.
ready:
	@sh scripts/ready $(VENV) ready

# Fawkes with all development tools.
$(VENV)/ready: pyproject.toml scripts/venv
	@sh scripts/venv $(VENV) dev
	@touch $@ $(VENV)/usable

# Fawkes with what the demo needs, which takes less time; nothing to do where `ready` is up to date.
$(VENV)/usable: pyproject.toml scripts/venv
	@[ $(VENV)/ready -nt pyproject.toml ] || sh scripts/venv $(VENV) lab,offline
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
