#!/bin/bash
# latencies.sh BATCH MS SAMPLE CONFIG...
#
# Runs in a guest: what does the device's stat say that a read takes, and what
# does blk-bench say, which asks the clock about one bio in SAMPLE?  Leaves a line
# in $SHARE/latencies for each CONFIG and way to complete:
#	CONFIG COMPLETION READS STAT_MS SAMPLES SAMPLED_NS

set -euo pipefail
. "$(dirname "$0")/configs.sh"
. "$(dirname "$0")/blk-bench.sh"

TIMER_DELAY_NS=10000

# Sets READS and MS.
read_stat()
{
	# shellcheck disable=SC2034	# names for what is skipped
	read -r READS merged sectors MS rest < "/sys/block/$DEV/stat"
}

# measure CONFIG COMPLETION
measure()
{
	local reads ms

	configure "$1" 1
	read_stat
	reads=$READS ms=$MS
	blk_bench "$batch" "$run_ms"
	read_stat
	[[ $RESULT =~ \ samples=([0-9]+)\ lat_ns=([0-9]+)\  ]] ||
		{ echo "no latencies from blk-bench: $RESULT"; exit 1; }
	echo "$1 $2 $((READS - reads)) $((MS - ms)) ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}" \
		>> "$SHARE/latencies"
	unconfigure
}

batch=$1 run_ms=$2 sample=$3
shift 3
echo "$sample" > "$PARAMETERS/sample"
for config; do
	TIMER_NS=0 measure "$config" inline
	TIMER_NS=$TIMER_DELAY_NS measure "$config" timer
done
