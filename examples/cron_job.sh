#!/bin/sh
# A job that never overlaps with itself: if the last one still runs, this one is left out.
#
#     */5 * * * *   cron_job.sh report make-report --all
#
# -n does not wait. -q -E 0 makes "it still runs" neither a mail nor a failure. --max-hold ends a job
# that hangs, so that it does not stand in the way for ever.
set -eu

name=$1
shift
exec weir run -n -q -E 0 --max-hold 1h "cron/$name" -- "$@"
