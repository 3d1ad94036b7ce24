#!/bin/bash
# kselftest.sh DIR [TEST]...: runs installed kselftests in the guest, all or some.

set -euo pipefail

cd "$1"
shift
select=()
for test; do
	select+=(-t "block:$test")
done
exec ./run_kselftest.sh "${select[@]}"
