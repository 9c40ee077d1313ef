#!/bin/sh
# Builds the peers that are not written in C or C++, from Debian's packages alone and without the
# network. A peer whose packages are missing is named and left out.
#
#     bench/peers/build.sh [DIRECTORY [PEER...]]        default: build/bench-peers, all of them
set -eu

source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-build/bench-peers}"
target=$(cd "${1:-build/bench-peers}" && pwd)
[ $# = 0 ] || shift
wanted=${*:-tokio go java}
crates=/usr/share/cargo/registry
gopath=/usr/share/gocode
sync=$gopath/src/golang.org/x/sync/semaphore

# Debian's program, even when another of that name comes first; else whatever there is.
program() {
	if [ -x "/usr/bin/$1" ]; then
		echo "/usr/bin/$1"
	else
		command -v "$1" || echo "/usr/bin/$1"
	fi
}

cargo=$(program cargo)
rustc=$(program rustc)
go=$(program go)
javac=$(program javac)
java=$(program java)

# With a home of its own, whatever the user has set up elsewhere. The sources are copied because
# cargo writes a lock file beside them.
build_tokio() {
	rm -rf "$target/tokio" &&
	cp -r "$source/tokio" "$target/tokio" &&
	mkdir -p "$target/tokio/.cargo" &&
	cat >"$target/tokio/.cargo/config.toml" <<-END &&
		[source.crates-io]
		replace-with = "debian"
		[source.debian]
		directory = "$crates"
	END
	(cd "$target/tokio" && env -u RUSTFLAGS -u RUSTUP_TOOLCHAIN \
		CARGO_HOME="$target/tokio/.cargo" CARGO_TARGET_DIR="$target/tokio/target" \
		RUSTC="$rustc" "$cargo" build --release --offline --quiet) &&
	cp "$target/tokio/target/release/bench-tokio" "$target/bench-tokio"
}

build_go() {
	(cd "$source/go" && env GO111MODULE=off GOFLAGS= GOPATH="$gopath" \
		GOCACHE="$target/go-cache" "$go" build -o "$target/bench-go" .)
}

build_java() {
	"$javac" -d "$target/java" "$source"/java/*.java
}

is_newer() {
	[ -e "$1" ] && [ -z "$(find "$2" -type f -newer "$1")" ]
}

# build PEER RESULT PACKAGES FILE...: builds it if all the files that it needs are there.
build() {
	peer=$1
	result=$target/$2
	packages=$3
	shift 3
	case " $wanted " in
	*" $peer "*) ;;
	*) return ;;
	esac
	for file; do
		if ! [ -e "$file" ]; then
			echo "$peer: not installed (packages: $packages)"
			return
		fi
	done
	if is_newer "$result" "$source/$peer"; then
		echo "$peer: up to date"
	elif "build_$peer"; then
		echo "$peer: built"
	else
		echo "$peer: the build failed" >&2
		failed=yes
	fi
}

failed=no
build tokio bench-tokio "cargo rustc librust-tokio-dev" "$cargo" "$rustc" "$crates"/tokio-1.*
build go bench-go "golang-go golang-golang-x-sync-dev" "$go" "$sync"
build java java/Bench.class "openjdk-17-jdk-headless" "$javac" "$java"
[ "$failed" = no ]
