#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The device's stat tells the truth about latency where a batch of I/Os shares
# its times: blk-bench dates one bio in so many at random places of its batches,
# by the clock before submit_bio() and in the bio's end, and the mean agrees with
# what stat has for all of them. Also where requests complete inline in the flush
# of their own plug: not one of these took no time.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_books
BATCH=32
TOLERANCE=25	# percent
RUN_MS=1000
SAMPLE=10
DELAY_NS=200000
# Fewer than this is no measurement, even on an emulated CPU.
MIN_SAMPLES=50

BENCH=/sys/kernel/debug/blk-bench
BENCH_PARAM=/sys/module/blk_bench/parameters

need_bench()
{
	modprobe -q blk-bench 2> /dev/null || true
	if [ ! -d "$BENCH" ] && mount -t debugfs none /sys/kernel/debug 2> /dev/null; then
		MOUNTED+=(/sys/kernel/debug)
	fi
	[ -d "$BENCH" ] || NEEDS+=("no $BENCH (CONFIG_BLK_BENCH)")
	[ -e "$BENCH_PARAM/sample" ] || NEEDS+=("blk-bench does not sample latencies")
}

# Sets READS and MS.
read_stat()
{
	# shellcheck disable=SC2034	# names for what is skipped
	read -r READS merged sectors MS rest < "/sys/block/$DEV/stat"
}

# bench: one run; sets SAMPLES and LAT_NS.
bench()
{
	local result

	SAMPLES=0
	LAT_NS=0
	echo 1 > "$BENCH/run" || return 0
	read -r result < "$BENCH/result"
	[[ $result =~ \ samples=([0-9]+)\ lat_ns=([0-9]+)\  ]] || return 0
	SAMPLES=${BASH_REMATCH[1]}
	LAT_NS=${BASH_REMATCH[2]}
}

# check SCHEDULER MODE: with the device as it is
check()
{
	local reads ms ns bad=1

	set_sched "$DEV" "$1"
	read_stat
	reads=$READS ms=$MS
	bench
	read_stat
	reads=$((READS - reads)) ms=$((MS - ms))
	if [ "$SAMPLES" -ge "$MIN_SAMPLES" ] && [ "$reads" -ge "$SAMPLES" ]; then
		ns=$((ms * 1000000 / reads))
		ktap_print_msg "$1, $2: stat $ns ns, $SAMPLES bios $LAT_NS ns"
		within "$ns" "$LAT_NS" "$TOLERANCE" && bad=0
	else
		ktap_print_msg "$1, $2: no measurement, $SAMPLES samples, $reads reads"
	fi
	report "$bad" "$1, $2: stat agrees with the bios within $TOLERANCE %"
}

# check_all MODE [OPTION]...: a device of that kind, under each scheduler
check_all()
{
	local mode=$1 sched

	shift
	nullb_create "$DEV" size=1024 queue_mode=2 submit_queues=1 "$@"
	for sched in none mq-deadline bfq; do
		check "$sched" "$mode"
	done
	nullb_remove "$DEV"
}

ktap_print_header
need_root
need_nullb
need_sched mq-deadline bfq
need_bench
need_done

ktap_set_plan 6
echo "$DEV" > "$BENCH_PARAM/dev"
echo "$BATCH" > "$BENCH_PARAM/batch"
echo 1 > "$BENCH_PARAM/runs"
echo "$RUN_MS" > "$BENCH_PARAM/ms"
echo "$SAMPLE" > "$BENCH_PARAM/sample"
check_all inline irqmode=0
check_all timer irqmode=2 completion_nsec="$DELAY_NS"
echo 0 > "$BENCH_PARAM/sample"
ktap_finished
