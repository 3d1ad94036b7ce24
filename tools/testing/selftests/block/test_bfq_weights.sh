#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# BFQ divides the device's bandwidth by the weights of the cgroups, within 10 %.
#
# The device serves one request at a time with a fixed latency, so it is the
# bottleneck even where the CPU is slow, and each of three groups keeps more
# requests queued than the device takes. Their shares are then BFQ's doing alone.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_bfq
TOLERANCE=10	# percent
SETTLE_S=2

# The latency of a request makes 500 IOPS at most.
LATENCY_NS=2000000
# A budget of 8 requests of 8 sectors: over a thousand budgets in a window, so a
# budget more or less for one group does not show.
MAX_BUDGET=64

setup()
{
	local group

	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec="$LATENCY_NS" hw_queue_depth=1
	set_sched "$DEV" bfq
	echo 64 > "/sys/block/$DEV/queue/nr_requests"
	echo 0 > "/sys/block/$DEV/queue/iosched/low_latency"
	echo "$MAX_BUDGET" > "/sys/block/$DEV/queue/iosched/max_budget"
	for group in a b c; do
		cg_make "$group"
		fio_start "$CGROOT/$group" "$group" "$DEV" \
			--rw=randread --bs=4k --iodepth=8
	done
	for group in a b c; do
		fio_wait_io "$CGROOT/$group" "$DEV" rbytes
	done
}

# check_weights SECONDS A B C
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
	report "$bad" "weights $* share the device $* within $TOLERANCE %"
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
check_weights 8 100 200 400
# The same readers with equal weights: it was the weights that told.
check_weights 4 100 100 100
ktap_finished
