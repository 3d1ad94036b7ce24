#!/bin/bash
# Runs in a guest, for scripts/bench: does what the lines that come in ask for,
# and answers each of them with a line.
#
#	configure NAME		configured
#	iostats 0|1		set
#	measure BATCH MS	iops N
#	unconfigure		unconfigured

set -euo pipefail
. "$(dirname "$0")/configs.sh"
. "$(dirname "$0")/blk-bench.sh"

echo ready
while read -r what first second; do
	case $what in
	configure)
		configure "$first" 1
		echo configured
		;;
	iostats)
		echo "$first" > "$QUEUE/iostats"
		echo set
		;;
	measure)
		blk_bench "$first" "$second"
		echo "iops $IOPS"
		;;
	unconfigure)
		unconfigure
		echo unconfigured
		;;
	*)
		echo "unknown: $what"
		exit 1
		;;
	esac
done
