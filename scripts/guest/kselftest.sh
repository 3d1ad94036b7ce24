#!/bin/bash
# kselftest.sh DIR [TEST]...: runs installed kselftests in the guest, all or some.
# Modules of this kernel that are installed there as well can be loaded.

set -euo pipefail

cd "$1"
shift
modules=$PWD/lib/modules/$(uname -r)
if [ -d "$modules" ]; then
	mkdir -p /lib/modules
	ln -sfn "$modules" /lib/modules/
fi
select=()
for test; do
	select+=(-t "block:$test")
done
exec ./run_kselftest.sh "${select[@]}"
