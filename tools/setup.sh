#!/bin/sh
# Installs what is missing from Debian's packages, and says so. Does nothing when all is there.
#
#     tools/setup.sh GROUP...        groups: build test check cross bench peers
#
# As root it calls apt-get, else it goes through sudo. Where neither works, it prints the command to
# give to someone who may, and fails.
set -eu

# What each group needs: a package, and what shows that it, or its like from elsewhere, is there: a
# command, the beginning of a path, or a pkg-config module as pc:NAME.
needs() {
	case $1 in
	build)
		cat <<-END
			gcc gcc
			g++ g++
			libc6-dev /usr/include/stdio.h
			libsqlite3-dev pc:sqlite3
			meson meson
			ninja-build ninja
			pkg-config pkg-config
			python3 python3
			libhiredis-dev pc:hiredis
			libpq-dev pc:libpq
			libssl-dev pc:openssl
			liburing-dev pc:liburing
		END
		;;
	test)
		cat <<-END
			binutils readelf
			libcmocka-dev pc:cmocka
			openssl openssl
			redis-server redis-server
			postgresql-15 /usr/lib/postgresql/15/bin/postgres
			pgbouncer /usr/sbin/pgbouncer
			strace strace
			rsync rsync
			btrfs-progs /sbin/mkfs.btrfs
			xfsprogs /sbin/mkfs.xfs
			attr setfattr
			acl setfacl
			valgrind valgrind
		END
		;;
	check)
		cat <<-END
			clang clang
			libclang-rt-dev $(clang -print-runtime-dir 2>/dev/null)/libclang_rt.asan
			clang-format clang-format
			cppcheck cppcheck
		END
		;;
	cross)
		cat <<-END
			gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
			libc6-dev-arm64-cross /usr/aarch64-linux-gnu/include/stdio.h
			qemu-user qemu-aarch64
		END
		;;
	bench)
		cat <<-END
			libconcurrentqueue-dev /usr/include/concurrentqueue
			parallel sem
			util-linux flock
		END
		;;
	peers)
		needs bench
		cat <<-END
			golang-go go
			golang-golang-x-sync-dev /usr/share/gocode/src/golang.org/x/sync/semaphore
			cargo cargo
			rustc rustc
			librust-tokio-dev /usr/share/cargo/registry/tokio-
			openjdk-17-jdk-headless javac
		END
		;;
	*)
		echo "setup: unknown group '$1' (known: build test check cross bench peers)" >&2
		exit 64
		;;
	esac
}

is_there() {
	case $1 in
	pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
	/*) ls -d "$1"* >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing() {
	for group in "$@"; do
		needs "$group"
	done | while read -r package proof; do
		is_there "$proof" || echo "$package"
	done | sort -u | tr '\n' ' '
}

apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null
}

# The lists of packages may be missing or out of date, which shows when an installation fails; only
# then are they fetched.
install() {
	apt install --yes --no-install-recommends "$@" >"$log" 2>&1 && return
	apt update >"$log" 2>&1 &&
		apt install --yes --no-install-recommends "$@" >"$log" 2>&1
}

for group in "$@"; do
	needs "$group" >/dev/null
done
packages=$(missing "$@")
packages=${packages% }
[ -n "$packages" ] || exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
	sudo=sudo
fi
if ! command -v apt-get >/dev/null || ! command -v ${sudo:-apt-get} >/dev/null; then
	echo "setup: these are missing. As root:" >&2
	echo "    apt-get install $packages" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "setup: installing from Debian: $packages"
# Unquoted: one word a package.
if ! install $packages; then
	cat "$log" >&2
	echo "setup: that failed. As root:" >&2
	echo "    apt-get install $packages" >&2
	exit 1
fi
left=$(missing "$@")
if [ -n "$left" ]; then
	echo "setup: installed, but still not found: $left" >&2
	exit 1
fi

# Build directories remember what they looked for and did not find: they are to be configured anew.
for build in "$(dirname "$0")"/../build*; do
	rm -f "$build/build.ninja" "$build/meson-private/coredata.dat"
done
