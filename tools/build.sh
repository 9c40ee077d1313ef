#!/bin/sh
# Makes a build directory up to date, silently unless it is new or something is wrong.
#
#     [CC=...] tools/build.sh DIR [-Doption=value]...
#
# DIR is configured when it is new, or when it has other values for the options that are named; the
# rest of its configuration is left alone.
set -eu

dir=$1
shift

has_options() {
	python3 - "$dir" "$@" <<-'END'
		import json, sys
		with open(sys.argv[1] + "/meson-info/intro-buildoptions.json") as f:
		    have = {o["name"]: o["value"] for o in json.load(f)}
		for option in sys.argv[2:]:
		    name, value = option.removeprefix("-D").split("=", 1)
		    now = have.get(name)
		    now = str(now).lower() if isinstance(now, bool) else str(now)
		    if now != value:
		        sys.exit(1)
	END
}

configure() {
	mkdir -p "$dir"
	if ! meson setup "$@" "$dir" >"$dir/setup.log" 2>&1; then
		cat "$dir/setup.log" >&2
		# Half a configuration would be taken for a whole one the next time.
		rm -f "$dir/build.ninja"
		exit 1
	fi
}

if [ ! -f "$dir/build.ninja" ]; then
	echo "build: everything into $dir/, which takes a minute or a few" >&2
	configure "$@"
elif ! has_options "$@"; then
	meson configure "$dir" "$@" # and ninja does the rest
fi

# Ninja talks when it configures anew, or has nothing to do, however quiet it is told to be.
if output=$(ninja -C "$dir" --quiet 2>&1); then
	printf '%s\n' "$output" | sed -e '/^The Meson build system/,/^Found ninja/d' \
		-e '/^ninja: /d' -e '/^Cleaning/d' -e '/^$/d' >&2
else
	printf '%s\n' "$output" >&2
	exit 1
fi
