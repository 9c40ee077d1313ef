# A thin front for Meson. `make help` says what there is.

BUILD = build
PREFIX ?= /usr/local
# Where both the dynamic linker and pkg-config look; left to itself, Meson may choose lib64.
LIBDIR ?= lib
DESTDIR ?=

# A checkout is a developer's, where a warning is an error; a release archive is not, and there a
# newer compiler must not get in the way. WERROR=false overrides.
WERROR = $(if $(wildcard .git),true,false)

# Two tests more at a time than there are processors: many sleep, or wait for a server, most of the time.
export MESON_TESTTHREADS ?= $(shell expr $$(nproc) + 2)

options = -Dwerror=$(WERROR) -Dprefix=$(PREFIX) -Dlibdir=$(LIBDIR)

.PHONY: all demo test bench bench-copy bench-peers bench-redis bench-postgres check-all writable install clean help

all:
	@tools/setup.sh build
	@tools/build.sh $(BUILD) $(options)

demo: all
	@WEIR=$(BUILD)/src/weir examples/demo.sh

test:
	@tools/setup.sh build test
	@tools/build.sh $(BUILD) $(options) -Dtests=enabled
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs

bench:
	@tools/setup.sh build bench
	@tools/build.sh $(BUILD) $(options) -Dbench=true
	@bench/run $(BUILD)

bench-copy:
	@tools/setup.sh build test
	@tools/build.sh $(BUILD) $(options) -Dbench=true
	@bench/copy/run $(BUILD) --cold --svg $(BUILD)/bench-copy.svg

# Leases on a server, beside bare calls to the same one, which is started for it.
bench-redis bench-postgres: bench-%:
	@tools/setup.sh build test
	@tools/build.sh $(BUILD) $(options) -Dbench=true
	@bench/servers $* $(BUILD)

bench-peers:
	@tools/setup.sh build bench peers
	@$(MAKE) --no-print-directory bench

check-all:
	@tools/check.sh all

# Before minutes of building, and in place of what Meson says then.
writable:
	@at="$(DESTDIR)$(PREFIX)"; while [ ! -e "$$at" ]; do at=$$(dirname "$$at"); done; [ -w "$$at" ] || \
		{ echo "install: $$at is not yours to write to: do it as root, or say PREFIX=DIRECTORY" >&2; exit 1; }

install: writable all
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

clean:
	@rm -rf build build-*

help:
	@echo 'make              build the libraries, weir, the examples and the tests into $(BUILD)/'
	@echo 'make demo         build it, and show what weir run does in a few seconds'
	@echo 'make test         build and run all tests'
	@echo 'make bench        measure, side by side with what the system offers'
	@echo 'make bench-copy   the copier, beside cp, rsync and tar'
	@echo 'make bench-redis, make bench-postgres   leases on a server, beside bare calls to it'
	@echo 'make bench-peers  the same, with Go, Rust and Java beside it'
	@echo 'make check-all    everything: two compilers, sanitizers, long runs'
	@echo 'make install      install below PREFIX=$(PREFIX); DESTDIR and LIBDIR=$(LIBDIR) are honoured'
	@echo 'make clean        remove all build directories'
	@echo
	@echo 'What is missing is installed from Debian packages: see tools/setup.sh.'
