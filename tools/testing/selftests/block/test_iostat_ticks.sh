#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The time that /sys/block/*/stat books for I/O is the time that it took: within
# 10 % of what fio measured, on a null_blk whose timer completes after 200 us.
#
# The device takes one request at a time and has many in its scheduler's queue,
# so most of the time is spent where both sides see it. What only fio sees (the
# system call, and waking up) is small against that, on an emulated CPU as well.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_ticks
TOLERANCE=10	# percent
RUN_S=4
DELAY_NS=200000
# In flight at most, by all jobs of fio together.
DEPTH=128
# No job waits for a request: that time only fio sees. BFQ has a job wait that has
# more of them than its share of all, whether or not there are free ones.
NR_REQUESTS=2048
# Fewer than this is no measurement.
MIN_READS=200

# Without a plug, and with plugs of eight. More threads would wait for a CPU.
declare -A ENGINE=(
	[psync]="--ioengine=psync --numjobs=$((DEPTH / 2))"
	[libaio]="--ioengine=libaio --numjobs=$((DEPTH / 8))"
	[io_uring]="--ioengine=io_uring --numjobs=$((DEPTH / 8))"
)
BATCHES="--iodepth=8 --iodepth_batch_submit=8 --iodepth_low=1"

# Sets READS and TICKS.
read_stat()
{
	# shellcheck disable=SC2034	# names for what is skipped
	read -r READS merged sectors TICKS rest < "/sys/block/$DEV/stat"
}

# run_fio ENGINE: prints the mean latency in us.
run_fio()
{
	local out

	# shellcheck disable=SC2086	# lists of options
	if ! out=$(fio --name=ticks --filename="/dev/$DEV" --direct=1 --bs=4k \
			--rw=randread --norandommap --thread --time_based \
			--runtime="$RUN_S" --group_reporting --minimal \
			${ENGINE[$1]} $BATCHES 2>&1); then
		ktap_print_msg "fio: $out" >&2
		return 1
	fi
	# Of the third version of the terse format.
	awk -F ';' '$1 == 3 { printf "%d\n", $16 }' <<< "$out"
}

# check SCHEDULER ENGINE
check()
{
	local fio_us stat_us reads ticks bad=1

	set_sched "$DEV" "$1"
	echo "$NR_REQUESTS" > "/sys/block/$DEV/queue/nr_requests"
	read_stat
	reads=$READS ticks=$TICKS
	fio_us=$(run_fio "$2") || fio_us=
	read_stat
	reads=$((READS - reads)) ticks=$((TICKS - ticks))
	if [ -n "$fio_us" ] && [ "$reads" -ge "$MIN_READS" ]; then
		stat_us=$((ticks * 1000 / reads))
		ktap_print_msg "$1, $2: stat $stat_us us, fio $fio_us us," \
			"$reads reads"
		within "$stat_us" "$fio_us" "$TOLERANCE" && bad=0
	else
		ktap_print_msg "$1, $2: no measurement, $reads reads"
	fi
	report "$bad" "$1, $2: ticks agree with fio within $TOLERANCE %"
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_sched mq-deadline bfq
need_done

ktap_set_plan 4
nullb_create "$DEV" size=1024 queue_mode=2 submit_queues=1 hw_queue_depth=1 \
	irqmode=2 completion_nsec="$DELAY_NS"
check mq-deadline psync
check mq-deadline libaio
check mq-deadline io_uring
check bfq io_uring
ktap_finished
