#!/bin/sh
# A script that holds a lease over several steps. It lives for a minute unless it is renewed, so when
# the machine dies in the middle, nobody waits longer than that.
#
#     deploy.sh TARGET-DIRECTORY
set -eu

target=$1

lease=$(weir acquire --ttl 1m --wait 5m --owner "deploy by $(id -un)" deploy)
eval "$lease"
trap 'weir release' EXIT

mkdir -p "$target"
echo "files" >"$target/new"
weir renew                  # stops the script, by set -e, if the lease was lost meanwhile
# Whoever reads the fence can tell a newer deployment from one that was held up.
echo "$WEIR_FENCE" >"$target/fence"
mv "$target/new" "$target/current"
echo "deployed to $target"
