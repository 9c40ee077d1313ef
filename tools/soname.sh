#!/bin/sh
# Prints the name by which programs linked with a library look for it.
#
#     tools/soname.sh COMPILER... LIBRARY
set -eu

for library; do :; done
while [ $# -gt 1 ]; do
	compiler="${compiler:-} $1"
	shift
done
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# Unquoted: a command and its arguments.
echo 'int main(void) { return 0; }' |
	$compiler -x c - -o "$directory/a" -Wl,--no-as-needed "-l$library"
objdump -p "$directory/a" | awk -v name="lib$library" '$1 == "NEEDED" && index($2, name) == 1 { print $2 }'
