#!/bin/bash
# clock-reads.sh MS CONFIG:IOSTATS:BATCH...
#
# Runs in a guest: who reads the clock while blk-bench runs?  ftrace records
# each call of ktime_get() with its caller (ktime_get_ns() is an inline around
# it), and each call of submit_bio(), which is one I/O.  Leaves them in the order
# they came in, a line "FUNCTION CALLER" each, in $SHARE/CONFIG:IOSTATS.

set -euo pipefail
. "$(dirname "$0")/configs.sh"
. "$(dirname "$0")/blk-bench.sh"

TRACING=/sys/kernel/tracing
BUFFER_KB=32768		# on each CPU; an event takes some 20 bytes

start_tracing()
{
	echo 0 > "$TRACING/tracing_on"
	echo nop > "$TRACING/current_tracer"
	echo "$BUFFER_KB" > "$TRACING/buffer_size_kb"
	echo ktime_get submit_bio > "$TRACING/set_ftrace_filter"
	echo function > "$TRACING/current_tracer"
	echo > "$TRACING/trace"
	echo 1 > "$TRACING/tracing_on"
}

stop_tracing()
{
	echo 0 > "$TRACING/tracing_on"
	if grep -q '^overrun: [1-9]' "$TRACING"/per_cpu/*/stats; then
		echo "the trace buffer overflowed: a shorter run, please"
		exit 1
	fi
}

# Lines of the trace end in "FUNCTION <-CALLER".
save_trace()
{
	awk '$NF ~ /^<-/ { print $(NF - 1), substr($NF, 3) }' "$TRACING/trace" > "$1"
}

ms=$1
shift
for run; do
	IFS=: read -r config iostats batch <<< "$run"
	configure "$config" "$iostats"
	((batch)) || echo N > "$PARAMETERS/plug"
	start_tracing
	blk_bench "$((batch ? batch : 1))" "$ms"
	stop_tracing
	save_trace "$SHARE/$run"
	echo nop > "$TRACING/current_tracer"
	[ ! -e "$PARAMETERS/plug" ] || echo Y > "$PARAMETERS/plug"
	unconfigure
done
