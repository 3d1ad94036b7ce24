#!/bin/bash
# clock-reads.sh BATCH MS CONFIG:IOSTATS...
#
# Runs in a guest: who reads the clock while blk-bench runs?  ftrace records
# each call of ktime_get() with its caller (ktime_get_ns() is an inline around
# it), and each call of submit_bio(), which is one I/O.  Prints per configuration
#
#	run CONFIG IOSTATS BATCH
#	ios N
#	reads N CALLER		(one line for each caller)
#	end

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

# Lines of the trace end in "ktime_get <-CALLER".
count()
{
	awk '$(NF - 1) == "submit_bio" && $NF ~ /^<-/ { ios++ }
	     $(NF - 1) == "ktime_get" && $NF ~ /^<-/ { reads[substr($NF, 3)]++ }
	     END {
		print "ios", ios + 0
		for (caller in reads)
			print "reads", reads[caller], caller
	     }' "$TRACING/trace"
}

batch=$1 ms=$2
shift 2
for run; do
	configure "${run%:*}" "${run#*:}"
	start_tracing
	blk_bench "$batch" "$ms"
	stop_tracing
	echo "run ${run%:*} ${run#*:} $batch"
	count
	echo end
	echo nop > "$TRACING/current_tracer"
	unconfigure
done
