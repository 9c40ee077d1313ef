#!/bin/sh
# Runs a sample of tasks on a processor that is not ours, in an emulator.
#
#     tests/cross/run.sh aarch64      needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user
#
# Exit status: 0 passed, 1 failed, 77 skipped for want of a compiler or an emulator.
set -eu
cd "$(dirname "$0")/../.."

cpu=${1:?usage: tests/cross/run.sh CPU}
compiler=$cpu-linux-gnu-gcc
emulator=qemu-$cpu
for tool in "$compiler" "$emulator"; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: $tool is not installed"
		exit 77
	fi
done

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

case $cpu in
x86_64 | aarch64) switch="src/task/switch_$cpu.S src/task/context_$cpu.c" ;;
*) switch=src/task/switch_ucontext.c ;;
esac
sources=$(ls src/base/*.c src/park/*.c src/sem/*.c src/task/*.c | grep -v 'task/switch_\|task/context_')

# At each level registers are used in another way.
for level in -O0 -O2 -O3; do
	# shellcheck disable=SC2086 # lists of files
	"$compiler" -std=gnu11 -D_GNU_SOURCE -DNVALGRIND '-DWEIR_VERSION="cross"' "$level" -g -static \
		-fstack-clash-protection -Iinclude -Isrc $sources $switch tests/cross/tasks.c \
		-o "$directory/tasks" -pthread -Wl,--wrap=madvise
	"$emulator" "$directory/tasks"
	# The emulator dies of the same signal, and may add words of its own.
	"$emulator" "$directory/tasks" overflow 2>"$directory/words" && exit 1
	if ! grep -q 'task 1 "digger" has overflowed its stack' "$directory/words"; then
		cat "$directory/words"
		exit 1
	fi
	echo "$cpu $level: ok"
done
