#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A plugged batch costs a few readings of the clock, not a few for each I/O: at
# batch 32 at most 0.10 per I/O on the issue side, and 0.15 on both sides,
# whatever is switched on. A bio without a plug costs one on the issue side, not
# one for each of those who look at it.
#
# ftrace's function tracer records ktime_get() and its callers while blk-bench
# runs. A tick ends the life of a stamp, so the first reading of either side after
# a tick is not counted: on an emulated CPU there are several ticks in a batch.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_clock
BATCH=32
ISSUE_LIMIT=0.10
LIMIT=0.15
SINGLE_LIMIT=1.00
RUN_MS=200
BUFFER_KB=16384		# a CPU, for some 500,000 events
# Fewer than this is no measurement, even on an emulated CPU.
MIN_IOS=320

TRACING=/sys/kernel/tracing
BENCH=/sys/kernel/debug/blk-bench
BENCH_PARAM=/sys/module/blk_bench/parameters
CLEANUP=cleanup

# Who reads the clock in task context; the first match counts. What is not known
# is the issue side's, so that a new caller cannot hide.
CALLERS='
completion	^blk_time_done_ns
completion	^blk_mq_end_request
completion	^__blk_mq_end_request
completion	^blk_mq_complete_request
completion	^blk_mq_(un)?requeue
completion	^blk_account_io_done
completion	^blkcg_iolatency_done_bio
completion	^iolatency_check_latencies
completion	^ioc_rqos_done
completion	^wbt_done
completion	^blk_throtl_bio_endio
completion	^bfq_finish_requeue_request
completion	^bfq_completed_request
completion	^bfqg_stats_update_completion
completion	^bfqg_stats_set_start_idle_time
other	^blk_bench_
other	_timer_fn$
other	^(__)?hrtimer_
other	^clockevents_
other	^tick_
issue	.
'

need_tracing()
{
	modprobe -q blk-bench 2> /dev/null || true
	if [ -d "$TRACING" ] && [ ! -e "$TRACING/trace" ] &&
	   mount -t tracefs none "$TRACING" 2> /dev/null; then
		MOUNTED+=("$TRACING")
	fi
	if [ ! -d "$BENCH" ] && mount -t debugfs none /sys/kernel/debug 2> /dev/null; then
		MOUNTED+=(/sys/kernel/debug)
	fi
	[ -d "$BENCH" ] || NEEDS+=("no $BENCH (CONFIG_BLK_BENCH)")
	grep -qsw ktime_get "$TRACING/available_filter_functions" ||
		NEEDS+=("ftrace does not trace ktime_get (CONFIG_FUNCTION_TRACER)")
}

# shellcheck disable=SC2317	# called by lib_cleanup()
cleanup()
{
	[ ! -e "$TRACING/trace" ] || tracing_reset
	[ ! -e "$BENCH_PARAM/plug" ] || echo Y > "$BENCH_PARAM/plug"
	iocost "enable=0"
}

# shellcheck disable=SC2317	# called by cleanup()
tracing_reset()
{
	echo 0 > "$TRACING/tracing_on"
	echo nop > "$TRACING/current_tracer"
	echo > "$TRACING/set_ftrace_filter"
	echo > "$TRACING/set_ftrace_pid"
	echo 1 > "$TRACING/buffer_size_kb"
	echo 1 > "$TRACING/tracing_on"
}

tracing_prepare()
{
	echo 0 > "$TRACING/tracing_on"
	echo "$BUFFER_KB" > "$TRACING/buffer_size_kb"
	echo ktime_get submit_bio scheduler_tick > "$TRACING/set_ftrace_filter"
	echo function > "$TRACING/current_tracer"
	echo > "$TRACING/trace"
}

iocost()
{
	local devno

	[ -e "/sys/block/$DEV" ] && [ -e "$CGBASE/io.cost.qos" ] || return 0
	read -r devno < "/sys/block/$DEV/dev"
	echo "$devno $1" > "$CGBASE/io.cost.qos"
}

# All controllers on, with limits that are never reached.
all_on()
{
	local devno many=100000000000 iops=100000000

	read -r devno < "/sys/block/$DEV/dev"
	set_sched "$DEV" bfq
	# BFQ switched it off.
	echo 75000 > "/sys/block/$DEV/queue/wbt_lat_usec"
	echo "$devno ctrl=user model=linear" \
		"rbps=$many rseqiops=$iops rrandiops=$iops" \
		"wbps=$many wseqiops=$iops wrandiops=$iops" > "$CGBASE/io.cost.model"
	iocost "enable=1 ctrl=user rpct=0 wpct=0 min=100 max=100"
	echo "$devno target=1000000" > "$CGROOT/load/io.latency"
	echo "$devno rbps=$many riops=$iops" > "$CGROOT/load/io.max"
}

# trace_run GROUP PLUG BATCH: traces a run of blk-bench by a task in that cgroup.
trace_run()
{
	tracing_prepare
	echo "$DEV" > "$BENCH_PARAM/dev"
	echo read > "$BENCH_PARAM/op"
	echo "$2" > "$BENCH_PARAM/plug"
	echo "$3" > "$BENCH_PARAM/batch"
	echo "$RUN_MS" > "$BENCH_PARAM/ms"
	echo 1 > "$BENCH_PARAM/runs"
	(
		echo "$BASHPID" > "$1/cgroup.procs"
		echo "$BASHPID" > "$TRACING/set_ftrace_pid"
		echo 1 > "$TRACING/tracing_on"
		echo 1 > "$BENCH/run"
	)
	echo 0 > "$TRACING/tracing_on"
	if grep -q '^overrun: [1-9]' "$TRACING"/per_cpu/cpu*/stats; then
		ktap_print_msg "the trace buffer is too small"
		return 1
	fi
}

# evaluate ISSUE_LIMIT [LIMIT]: the latter is on both sides
#
# Lines are "sh-12 [001] d.h1. 3.14: ktime_get <-caller". The third flag tells an
# interrupt, which is neither side.
evaluate()
{
	awk -v callers="$CALLERS" -v issue_limit="$1" -v limit="${2-}" -v min_ios="$MIN_IOS" '
	BEGIN {
		n = split(callers, lines, "\n")
		for (i = 1; i <= n; i++)
			if (split(lines[i], field, "\t") == 2) {
				side[++sides] = field[1]
				pattern[sides] = field[2]
			}
	}
	function side_of(caller,	i)
	{
		for (i = 1; caller !~ pattern[i]; i++)
			;
		return side[i]
	}
	/^#/ { next }
	$(NF - 1) == "submit_bio" { ios++ }
	$(NF - 1) == "scheduler_tick" {
		ticks++
		ticked["issue"] = ticked["completion"] = 1
	}
	$(NF - 1) == "ktime_get" && substr($(NF - 3), 3, 1) == "." {
		caller = substr($NF, 3)
		if (!(caller in known))
			known[caller] = side_of(caller)
		reads[caller]++
		sum[known[caller]]++
		counted[known[caller]] += !ticked[known[caller]]
		ticked[known[caller]] = 0
	}
	END {
		if (ios < min_ios) {
			printf "# only %d I/Os were traced\n", ios
			exit 1
		}
		for (caller in reads)
			printf "# %8.3f per I/O, %s: %s\n", reads[caller] / ios,
				known[caller], caller
		printf "# %d I/Os, %d ticks; reads per I/O: ", ios, ticks
		printf "issue %.3f, of which %.3f count, completion %.3f, of which %.3f\n",
			sum["issue"] / ios, counted["issue"] / ios,
			sum["completion"] / ios, counted["completion"] / ios
		exit !(counted["issue"] / ios <= issue_limit && sum["issue"] > 0 &&
		       (limit == "" || sum["completion"] > 0 &&
			(counted["issue"] + counted["completion"]) / ios <= limit))
	}' "$TRACING/trace"
}

# check NAME GROUP
check()
{
	local bad=0

	trace_run "$2" Y "$BATCH" && evaluate "$ISSUE_LIMIT" "$LIMIT" || bad=1
	report "$bad" "$1: at most $ISSUE_LIMIT clock reads per I/O to issue it, $LIMIT in all"

	# who completes it may be another task, which is not traced
	bad=0
	trace_run "$2" N 1 && evaluate "$SINGLE_LIMIT" || bad=1
	report "$bad" "$1, no plug: one clock read per I/O to issue it"
}

ktap_print_header
need_root
need_nullb
need_sched bfq
need_cgroup_io
need_cgroup_file io.max CONFIG_BLK_DEV_THROTTLING
need_cgroup_file io.latency CONFIG_BLK_CGROUP_IOLATENCY
need_cgroup_file io.weight CONFIG_BLK_CGROUP_IOCOST
need_tracing
need_done

ktap_set_plan 4
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=0 submit_queues=1 \
	hw_queue_depth=128
cg_make load
set_sched "$DEV" none
check "nothing on" "$CGBASE"
all_on
check "everything on" "$CGROOT/load"
ktap_finished
