#!/bin/sh
# At most N compilers at a time on this machine, over all builds that go on, however high their -j:
#
#     weir limit compilers 4
#     make -j 32 CC='few_compilers.sh cc'
#
# A build can be told to go first come, first served with the others, or to stand still:
#
#     weir limit compilers 0
set -eu

exec weir run compilers -- "$@"
