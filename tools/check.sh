#!/bin/bash
# Runs the tests in every build that we care about and adds the results up.
#
#     tools/check.sh quick     what each change has to pass, in minutes
#     tools/check.sh all       the same with long runs, for the night or before a release
#
# The last line is "N passed, N failed, N skipped"; before it, what failed is shown once more. A build that
# fails counts as a failed test.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0
failed=0
skipped=0
failures=

# As in the Makefile: many tests sleep most of the time.
export MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) + 2))}

# Sanitizers stop at the first report.
export ASAN_OPTIONS=detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

fail() {
	echo "FAILED: $1"
	failed=$((failed + 1))
	failures+="== $1"$'\n'
}

# stage NAME COMMAND...: anything that succeeds or not, or ends with 77: skipped.
stage() {
	local name=$1 began=$SECONDS
	shift
	echo "== $name"
	"$@" </dev/null
	case $? in
	0) passed=$((passed + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) fail "$name" ;;
	esac
	echo "== $name: $((SECONDS - began)) s"
}

# test_stage NAME DIRECTORY COMMAND...: runs Meson's tests in DIRECTORY; the log there tells which
# of them failed. How much the explorer has seen is shown even if all is well.
test_stage() {
	local name=$1 log=$2/meson-logs/testlog.json began=$SECONDS status counts
	shift 2
	echo "== $name"
	rm -f "$log"
	"$@" </dev/null
	status=$?
	if counts=$(tools/testlog.py count "$log" 2>/dev/null); then
		read -r -a counts <<<"$counts"
		passed=$((passed + counts[0]))
		failed=$((failed + counts[1]))
		skipped=$((skipped + counts[2]))
		tools/testlog.py totals "$log"
		[ "${counts[1]}" -eq 0 ] || failures+="== $name"$'\n'"$(tools/testlog.py failures "$log")"$'\n'
		[ $status -eq 0 ] || [ "${counts[1]}" -gt 0 ] || fail "$name: exit status $status"
	else
		fail "$name: exit status $status, and no test was run"
	fi
	echo "== $name: $((SECONDS - began)) s"
}

# build_and_test DIRECTORY "OPTIONS" SUITE...: with the compiler in CC and CXX.
build_and_test() {
	local dir=$1 options=$2
	shift 2
	# shellcheck disable=SC2086 # several options in one string
	tools/build.sh "$dir" -Dwerror=true -Dtests=enabled $options &&
		$fixed_addresses meson test -C "$dir" --no-rebuild --print-errorlogs "${@/#/--suite=}"
}

# longer SECONDS TEST...: tests that run for as long as they are told to.
longer() {
	local seconds=$1
	shift
	meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier=0 \
		--test-args="--seconds $seconds" "$@"
}

# ThreadSanitizer of this age cannot live with as much address randomisation as newer kernels use.
fixed_addresses=
if setarch -R true 2>/dev/null; then
	fixed_addresses="setarch -R"
fi

# With clang, a sanitizer's symbols are in the program and not in a shared library: b_lundef. Its sanitizer of
# undefined behaviour finds more than gcc's.
quick() {
	test_stage "gcc: all tests" build make --no-print-directory test
	export CC=gcc CXX=g++
	test_stage "gcc: thread sanitizer" build-tsan \
		build_and_test build-tsan "-Db_sanitize=thread -Dbench=false" \
		unit conformance stress examples
	test_stage "gcc: thread sanitizer, threads that hesitate" build-hesitant \
		build_and_test build-hesitant "-Dhesitant=true -Db_sanitize=thread -Dbench=false" \
		unit stress
	export CC=clang CXX=clang++
	test_stage "clang: address and undefined behaviour sanitizers" build-clang-asan \
		build_and_test build-clang-asan "-Db_sanitize=address,undefined -Db_lundef=false -Dbench=false" \
		unit conformance stress examples
	test_stage "clang" build-clang \
		build_and_test build-clang "" unit examples lint
	stage "cppcheck" cppcheck --quiet --error-exitcode=1 --enable=warning,portability \
		--inline-suppr -Iinclude -Isrc -D__x86_64__ src include
}

long() {
	quick
	test_stage "clang: thread sanitizer" build-clang-tsan \
		build_and_test build-clang-tsan \
		"-Db_sanitize=thread -Db_lundef=false" unit stress examples
	export CC=gcc CXX=g++
	test_stage "gcc: address and undefined behaviour sanitizers" build-asan \
		build_and_test build-asan "-Db_sanitize=address,undefined -Dbench=false" \
		unit conformance stress examples
	test_stage "gcc: threads that hesitate, again and again" build-hesitant \
		$fixed_addresses meson test -C build-hesitant --no-rebuild --print-errorlogs --repeat=10 \
		--suite=unit --suite=conformance --suite=stress
	test_stage "gcc: long stress" build longer 60 --suite=stress
	test_stage "gcc: long exploration" build \
		longer 1800 explorer_1_of_2 explorer_2_of_2
	test_stage "gcc: the copier at length" build \
		meson test -C build --no-rebuild --print-errorlogs --suite=copy-long
	stage "the rule book, four claims" build/tests/unit/unit_rules --whole
	stage "100,000 kills" build/tests/chaos/crash --kills 100000 sqlite:DIRECTORY/weir.db
	stage "Redis, all harms" env WEIR_CLOCK_SHIM="$PWD/build/tests/support/clock_shim.so" \
		tests/support/with_redis.py pair build/tests/chaos/redis_chaos --seconds 60 REDIS_DIR
	stage "a million pairs in PostgreSQL" \
		tests/chaos/test_postgres_service.py build/src/weir 1000000
	stage "PostgreSQL, all harms" env WEIR_CLOCK_SHIM="$PWD/build/tests/support/clock_shim.so" \
		tests/support/with_postgres.py tcp build/tests/chaos/postgres_chaos --seconds 60 \
		POSTGRES_DIR POSTGRES_PORT POSTGRES_URL "$PWD/tests/support/follow_postgres.py"
	export CC=clang CXX=clang++
	test_stage "clang: fuzzing" build-fuzz \
		build_and_test build-fuzz "-Db_sanitize=address,undefined -Db_lundef=false \
		-Dc_args=-fsanitize=fuzzer-no-link -Dc_link_args=-fsanitize=fuzzer-no-link" fuzz
	tools/setup.sh cross
	stage "tasks on aarch64, emulated" tests/cross/run.sh aarch64
}

if ! tools/setup.sh build test check; then
	fail "setup"
else
	case ${1:-} in
	quick) quick ;;
	all) long ;;
	*) fail "usage: tools/check.sh quick|all" ;;
	esac
fi
printf '%s' "$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
