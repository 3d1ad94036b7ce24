#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# BFQ divides the device's bandwidth by the weights of the cgroups, within 10 %.
#
# The device serves one request at a time with a fixed latency, so it is the
# bottleneck even where the CPU is slow, and each of three groups keeps so many
# requests queued that a late wake-up of its reader does not leave it without.
# Their shares are then BFQ's doing alone.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_bfq
TOLERANCE=10	# percent
SETTLE_S=2

# The latency of a request makes 100 IOPS at most.
LATENCY_NS=10000000
# A budget is two requests of 8 sectors: the smallest group gets dozens of them in
# a window, so one more or less does not show.
MAX_BUDGET=16
IODEPTH=32
NR_REQUESTS=256

setup()
{
	local group

	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec="$LATENCY_NS" hw_queue_depth=1
	set_sched "$DEV" bfq
	echo "$NR_REQUESTS" > "/sys/block/$DEV/queue/nr_requests"
	echo 0 > "/sys/block/$DEV/queue/iosched/low_latency"
	echo "$MAX_BUDGET" > "/sys/block/$DEV/queue/iosched/max_budget"
	for group in a b c; do
		cg_make "$group"
		fio_start "$CGROOT/$group" "$group" "$DEV" \
			--rw=randread --bs=4k --iodepth="$IODEPTH"
	done
	for group in a b c; do
		fio_wait_io "$CGROOT/$group" "$DEV" rbytes
	done
}

# check_weights SECONDS A B C: whether the shares are as the weights.
check_weights()
{
	local seconds=$1 i sum=0 ideal bad=0 total=0
	local names=(a b c) weights

	shift
	weights=("$@")
	for i in 0 1 2; do
		echo "${weights[i]}" > "$CGROOT/${names[i]}/io.bfq.weight"
		sum=$((sum + weights[i]))
	done
	sleep "$SETTLE_S"
	window "$seconds" "$DEV" "$CGROOT/a" rbytes "$CGROOT/b" rbytes \
		"$CGROOT/c" rbytes
	fio_running || bad=1
	for i in 0 1 2; do
		total=$((total + DELTA[i]))
	done
	for i in 0 1 2; do
		ideal=$((total * weights[i] / sum))
		ktap_print_msg "weight ${weights[i]}: ${DELTA[i]} bytes," \
			"$(percent_of "${DELTA[i]}" "$total") % of all," \
			"should be $(percent_of "$ideal" "$total") %"
		within "${DELTA[i]}" "$ideal" "$TOLERANCE" || bad=1
	done
	[ "$total" -gt 0 ] || bad=1
	return "$bad"
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_sched bfq
need_cgroup_io
need_cgroup_file io.bfq.weight CONFIG_BFQ_GROUP_IOSCHED
need_done

ktap_set_plan 2
setup
bad=1
for ((n = 0; n < TRIES && bad; n++)); do
	! check_weights 8 100 200 400 || bad=0
done
report "$bad" "weights 1:2:4 divide the device 1:2:4 within $TOLERANCE %"
# The same readers with equal weights: it was the weights that told.
bad=1
for ((n = 0; n < TRIES && bad; n++)); do
	! check_weights 6 100 100 100 || bad=0
done
report "$bad" "equal weights divide it equally"
ktap_finished
