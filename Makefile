# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. `make` builds and changes nothing else on the machine. `make setup` installs packages and
# users; run, test and similar targets do that first.

BUILD ?= build
STATE ?= /var/lib/atoll
RUN ?= /run/atoll/main
LISTEN ?= 127.0.0.1:8080
CYCLES ?= 1000
DURATION ?= 3600
SANDBOXES ?= 200
FROM ?= 77e3217
KEYS ?=
URL ?=

# A user's clone keeps its owner, also under sudo.
AS_OWNER = scripts/as-owner $(firstword $(wildcard $(BUILD)) .)
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
ASAN_BUILD := build-asan
TSAN_BUILD := build-tsan
ASAN_FLAGS := -Db_sanitize=address,undefined -Db_lundef=false
DEMO = $(SUDO) scripts/run-demo --build-dir $(BUILD) --state $(STATE) --run $(RUN) --listen $(LISTEN)

.PHONY: build setup template ready run demo check engine-gvisor test test-busy escape-table escape-long compat torture soak upgrade test-packages repository lint units-asan check-asan check-tsan bench dist install clean help
.DEFAULT_GOAL := build

help:
	@echo 'make run          set up, build, start the server in the foreground, and run a sample'
	@echo 'make demo         the same, but stop after the sample'
	@echo 'make              build into $(BUILD)/, and change nothing else'
	@echo 'make setup        install packages and create users (run, demo, test and bench do this first)'
	@echo 'make template     build the templates'
	@echo 'make check        run units, fuzz corpora and an end-to-end smoke: the inner loop, at most 3 minutes'
	@echo 'make test         run unit and end-to-end tests (TESTS=PATTERN selects files, TEST_FLAGS=...)'
	@echo 'make engine-gvisor build and install the gVisor engine for the tests (test does this first)'
	@echo 'make test-busy    run the same tests while every processor is kept busy'
	@echo 'make lint         check the format, the numbers of the tree and what static analysis finds'
	@echo 'make units-asan   run the units with the address and undefined behaviour sanitizers'
	@echo 'make check-asan   run the same tests with the address and undefined behaviour sanitizers'
	@echo 'make check-tsan   run the thread tests of libatoll with the thread sanitizer'
	@echo 'make compat       test every client, and write docs/compatibility.md'
	@echo 'make torture      kill daemons and fill disks CYCLES=$(CYCLES) times; nothing may be lost (SEED=N)'
	@echo 'make soak         mixed use for DURATION=$(DURATION) seconds with SANDBOXES=$(SANDBOXES) (SOAK_FLAGS=...)'
	@echo 'make upgrade      use a server of revision FROM=$(FROM), upgrade it to this one; nothing may be lost'
	@echo 'make escape-table write tests/escape/suite/syscalls.tbl after a change of the system call filter'
	@echo 'make escape-long  run tests/escape/restore with every descriptor number (ten minutes or more)'
	@echo 'make bench        measure, and write docs/benchmarks.md (BENCH_FLAGS=...; "--quick --page": just that page)'
	@echo 'make dist         write the source as a tarball and the Debian packages to dist/; with KEYS=DIR URL=URL also the repository'
	@echo 'make repository   make the signed repository of what is in dist/packages, with the templates (KEYS=DIR URL=URL)'
	@echo 'make test-packages  install, upgrade and purge the packages in a clean Debian 12 (about 15 minutes)'
	@echo 'make install      install into /usr/local (honours DESTDIR)'
	@echo 'make clean        remove the build directories'
	@echo 'Variables of run and demo: STATE=$(STATE) RUN=$(RUN) LISTEN=$(LISTEN)'

setup:
	@scripts/setup

build:
	@command -v meson ninja >/dev/null || { echo 'meson and ninja are missing: make setup installs what the build needs' >&2; exit 1; }
	@test -f $(BUILD)/build.ninja || $(AS_OWNER) meson setup $(BUILD) $(MESON_FLAGS)
	@$(AS_OWNER) ninja -C $(BUILD)

# Everything that a server and its tests need.
ready: setup
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory template

# Each is tried twice: a mirror may fail once.
template:
	@$(SUDO) templates/build code-interpreter-v1 >/dev/null || $(SUDO) templates/build code-interpreter-v1 >/dev/null
	@$(SUDO) templates/build tools >/dev/null || $(SUDO) templates/build tools >/dev/null || \
		echo 'continuing without CRIU: the memory of paused sandboxes is not saved to disk'

run: ready
	@$(DEMO)

demo: ready
	@$(DEMO) --once

# Units and fuzz corpora.
UNITS = meson test -C $(BUILD) --no-rebuild --print-errorlogs

check: ready
	@status=0; \
	$(UNITS) || status=1; \
	$(SUDO) scripts/with-node tests/run --build-dir $(BUILD) --only smoke/ || status=1; \
	exit $$status

# Built by the command that users have, once; it stays in the cache.
engine-gvisor:
	@$(BUILD)/src/cli/atoll engine list | grep -q '^gvisor *installed ' || $(SUDO) $(BUILD)/src/cli/atoll engine install gvisor || \
		echo 'CONTINUING WITHOUT GVISOR: it could not be built, and its tests are skipped' >&2

# Both parts always run, so that one failing unit does not hide the rest; the last line is the end-to-end count.
test: ready
	@scripts/setup test
	@$(MAKE) --no-print-directory engine-gvisor
	@status=0; \
	$(UNITS) || status=1; \
	$(SUDO) scripts/with-node tests/run --build-dir $(BUILD) $(if $(TESTS),--only $(TESTS)) $(TEST_FLAGS) || status=1; \
	exit $$status

# What passes on a quiet machine alone is not right.
test-busy: ready
	@tests/busy $(MAKE) --no-print-directory test

# The answer of the filter to each system call. Review and commit the table after a change of the filter.
escape-table: ready
	@$(SUDO) env ATOLL_ESCAPE_WRITE=1 scripts/with-node tests/run --build-dir $(BUILD) --only escape/selftest

escape-long: ready
	@$(SUDO) env ATOLL_LONG=1 scripts/with-node tests/run --build-dir $(BUILD) --only escape/restore

compat: ready
	@$(SUDO) env ATOLL_COMPAT_WRITE=1 scripts/with-node tests/run --build-dir $(BUILD) --only compat/

torture: ready
	@$(SUDO) scripts/with-node tests/torture/run --build-dir $(BUILD) --long --cycles $(CYCLES) $(if $(SEED),--seed $(SEED))

soak: ready
	@$(SUDO) scripts/with-node tests/soak/run --build-dir $(BUILD) --duration $(DURATION) --sandboxes $(SANDBOXES) $(SOAK_FLAGS)

# Everything that must survive an upgrade is made with a build of FROM, and looked for with this one.
upgrade: ready
	@$(SUDO) scripts/with-node tests/upgrade/run --build-dir $(BUILD) --from $(FROM)

# What can be said of the source without running it.
lint: build
	@scripts/format
	@scripts/with-node node console/build.mjs --check console $(BUILD)/console.work
	@scripts/house --no-format --build-dir $(BUILD)
	@scripts/analyze --build-dir $(BUILD)

units-asan:
	@test -f $(ASAN_BUILD)/build.ninja || $(AS_OWNER) meson setup $(ASAN_BUILD) $(ASAN_FLAGS)
	@$(AS_OWNER) ninja -C $(ASAN_BUILD) meson-test-prereq
	@meson test -C $(ASAN_BUILD) --no-rebuild --print-errorlogs

check-asan:
	@$(MAKE) --no-print-directory test BUILD=$(ASAN_BUILD) MESON_FLAGS='$(ASAN_FLAGS)' TEST_FLAGS=--asan

# The client library only: the test is that threads may share its objects.
check-tsan: setup
	@test -f $(TSAN_BUILD)/build.ninja || meson setup $(TSAN_BUILD) -Db_sanitize=thread -Db_lundef=false
	@ninja -C $(TSAN_BUILD) tests/client/sdk-threads tests/client/sdk-list
	@ATOLL_MOCK=1 $(TSAN_BUILD)/tests/client/sdk-threads
	@ATOLL_MOCK=1 $(TSAN_BUILD)/tests/client/sdk-list

bench: ready
	@scripts/setup bench
	@$(SUDO) scripts/with-node bench/run --build-dir $(BUILD) $(BENCH_FLAGS)

install: setup
	@$(MAKE) --no-print-directory build
	@$(SUDO) env DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild
	@$(SUDO) chown --reference=$(BUILD) $(BUILD)/meson-logs/install-log.txt

# KEYS: see scripts/repository. Templates are packed if they are built.
dist:
	@scripts/dist
	@scripts/setup packages
	@scripts/packages
	@test -z '$(KEYS)' || $(MAKE) --no-print-directory repository

repository: build
	@$(SUDO) $(BUILD)/src/cli/atoll template pack -o dist/templates --key '$(KEYS)/templates.key'
	@scripts/repository --keys '$(KEYS)' --url '$(URL)' --templates dist/templates

test-packages: ready
	@scripts/setup packages
	@$(SUDO) scripts/with-node tests/packages/run --work $(BUILD)/packages

clean:
	rm -rf $(BUILD) $(ASAN_BUILD) $(TSAN_BUILD)
