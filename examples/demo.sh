#!/bin/bash
# What weir does, in about eight seconds: commands queue up for two permits, a table shows them,
# and when a holder is killed with -9 the next one starts at once.
#
#     WEIR=path/of/weir examples/demo.sh
#
# Everything happens in a store of its own, in a temporary directory that is removed at the end.
set -u

weir=${WEIR:-weir}
directory=$(mktemp -d)
export XDG_STATE_HOME=$directory
unset WEIR_STORE
begun=$(date +%s%N)
jobs=()
trap 'kill "${jobs[@]}" 2>/dev/null; wait; rm -rf "$directory"' EXIT

say() { printf '\n%s\n\n' "$1"; }
stamp() { printf '%6d ms   %s\n' $((($(date +%s%N) - begun) / 1000000)) "$1"; }

# job NAME SECONDS: one command through weir run, that says when it begins and ends. The first ones
# stay until all have come, however long that takes.
job() {
	"$weir" run -q -j 2 --owner "$1" api -- bash -c '
		printf "%6d ms   %s begins in slot %s\n" $((($(date +%s%N) - $1) / 1000000)) $2 $WEIR_SLOT
		until [ -e "$4" ]; do sleep 0.02; done
		sleep $3 &
		wait
		printf "%6d ms   %s ends\n" $((($(date +%s%N) - $1) / 1000000)) $2
	' "$1" "$begun" "$1" "$2" "$directory/all-came" &
	jobs+=($!)
}

await() { # until as many hold, and as many wait: the demo goes by events, not by hope
	until "$weir" show --json api 2>/dev/null | grep -q "\"holding\": $1, \"waiting\": $2,"; do
		sleep 0.02
	done
}

say "1. Five commands, two permits:  weir run -j 2 api -- COMMAND"
job anna 2
await 1 0
job bert 2
await 2 0
waiting=0
for who in cleo dora emil; do # one after the other, to be seen served in that order
	job $who 2
	await 2 $((++waiting))
done

say "2. Who has one, and who waits:  weir show api"
"$weir" show api
echo
touch "$directory/all-came"
wait "${jobs[@]}"
jobs=()

say "3. A holder is killed with -9, command and all, and the next one starts at once"
job fred 60
await 1 0
job gina 60
await 2 0
job hugo 1
await 2 1
"$weir" show api
pid=$("$weir" show --json api | sed -E 's/.*"owner": "fred"[^}]*"pid": ([0-9]+).*/\1/')
group=$(cat "/proc/$pid/task/$pid/children")
echo
stamp "kill -9: fred"
disown "${jobs[0]}" # the shell need not report it
kill -9 -- "$pid" "-${group% }"
wait "${jobs[2]}"

say "4. An operator ends somebody's lease:  weir evict api ID"
id=$("$weir" show --json api | sed -E 's/.*"id": "([0-9a-f]+)".*"owner": "gina".*/\1/')
"$weir" evict api "$id"
wait "${jobs[1]}"
stamp "gina's command was told to end: exit code $?"
jobs=()

say "5. What the store remembers:  weir ls"
"$weir" ls
