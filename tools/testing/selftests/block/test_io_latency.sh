#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# io.latency protects: a reader with a latency target gets its turn again when
# a greedy sibling without one fills the device, and it is the sibling whose
# queue depth is cut. Without the target neither is so.
#
# The device takes 4 requests of 8 ms at a time. Against 16 greedy readers the
# victim waits about 34 ms; with the sibling cut to one request, 8 ms.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_lat
LATENCY_NS=8000000
DEPTH=4
GREEDY=16
TARGET_US=20000

WINDOW_S=4
# The controller changes the depth no more than twice a second.
SETTLE_S=6
SAMPLES_PER_S=5

DEVNO=
VICTIM=
SIBLING=

setup()
{
	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec="$LATENCY_NS" hw_queue_depth="$DEPTH"
	set_sched "$DEV" none
	read -r DEVNO < "/sys/block/$DEV/dev"
	debug_stats_on
	cg_make victim
	cg_make sibling
	VICTIM=$CGROOT/victim
	SIBLING=$CGROOT/sibling
	fio_start "$VICTIM" victim "$DEV" --rw=randread --bs=4k \
		--ioengine=psync
	fio_start "$SIBLING" sibling "$DEV" --rw=randread --bs=4k \
		--ioengine=psync --numjobs="$GREEDY"
	fio_wait_io "$VICTIM" "$DEV" rios
	fio_wait_io "$SIBLING" "$DEV" rios
	sleep 2
}

# measure: VICTIM_IOS and SIBLING_IOS in a window of WINDOW_S seconds.
measure()
{
	window "$WINDOW_S" "$DEV" "$VICTIM" rios "$SIBLING" rios
	VICTIM_IOS=${DELTA[0]}
	SIBLING_IOS=${DELTA[1]}
	ktap_print_msg "$1: victim $VICTIM_IOS I/Os, sibling $SIBLING_IOS" \
		"in $((SPAN_US[0] / 1000)) ms"
}

# settle: waits until the controller has had its time; LOWEST is the least depth
# that the sibling had meanwhile. It moves up and down by the victim's latency.
settle()
{
	local n

	LOWEST=max
	for ((n = 0; n < SETTLE_S * SAMPLES_PER_S; n++)); do
		io_stat "$SIBLING" "$DEV" depth
		[[ $REPLY != [1-9]* || ( $LOWEST != max && $REPLY -ge $LOWEST ) ]] ||
			LOWEST=$REPLY
		sleep "0.$((10 / SAMPLES_PER_S))"
	done
	ktap_print_msg "lowest depth of the sibling: $LOWEST"
}

# check NAME CONDITION: CONDITION is an arithmetic expression.
check()
{
	local bad=0

	(($2)) || bad=1
	report "$bad" "$1"
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_cgroup_io
need_cgroup_file io.latency CONFIG_BLK_CGROUP_IOLATENCY
need_done

ktap_set_plan 6
setup

measure "no target"
before=$VICTIM_IOS
sibling_before=$SIBLING_IOS

echo "$DEVNO target=$TARGET_US" > "$VICTIM/io.latency"
settle
measure "target $TARGET_US us"
check "the victim gets at least 1.5 times as much with a target" \
	"$VICTIM_IOS * 2 >= $before * 3"
check "the sibling gets less" "$SIBLING_IOS < $sibling_before"
cut=0
[[ $LOWEST != max && $LOWEST -lt $DEPTH ]] || cut=1
report "$cut" "the sibling's depth is cut"
protected=$VICTIM_IOS

echo "$DEVNO target=0" > "$VICTIM/io.latency"
sleep 1
measure "no target again"
check "the victim falls back without its target" \
	"$VICTIM_IOS * 3 <= $protected * 2"
check "the sibling recovers" "$SIBLING_IOS * 10 >= $sibling_before * 8"
bad=0
fio_running || bad=1
report "$bad" "all loads ran through"
ktap_finished
