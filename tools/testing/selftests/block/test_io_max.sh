#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# io.max holds: a group that could do more does what its limit says, within 5 %
# either way. One group a limit, all at once on one device that is much faster
# than the limits; one more group without a limit shows that it is.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_max
TOLERANCE=5	# percent
WINDOW_S=10
SETTLE_S=2

# Low enough for a slow machine to exceed when nothing holds it back. Limits are
# granted in slices of time, rounded down: 50 a second is a whole number in each.
BPS=$((256 * 1024))
IOPS=50

# A group whose turn comes later than the end of a slice loses what it had left in
# it, so the slices must be longer than a stall of the machine. Without
# CONFIG_BLK_DEV_THROTTLING_LOW a slice is 100 ms.
SLICE_MS=200

LIMITS=(rbps wbps riops wiops)
declare -A VALUE=([rbps]=$BPS [wbps]=$BPS [riops]=$IOPS [wiops]=$IOPS)
declare -A KEY=([rbps]=rbytes [wbps]=wbytes [riops]=rios [wiops]=wios)
declare -A HELD=() EXCEEDED=()
JUDGED=0
declare -A RW=([rbps]=randread [wbps]=randwrite [riops]=randread [wiops]=randwrite)

setup()
{
	local limit devno slice=/sys/block/$DEV/queue/throttle_sample_time

	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec=100000 hw_queue_depth=64
	set_sched "$DEV" none
	[ ! -e "$slice" ] || echo "$SLICE_MS" > "$slice"
	read -r devno < "/sys/block/$DEV/dev"
	for limit in "${LIMITS[@]}"; do
		cg_make "$limit"
		echo "$devno $limit=${VALUE[$limit]}" > "$CGROOT/$limit/io.max"
		fio_start "$CGROOT/$limit" "$limit" "$DEV" --bs=4k \
			--rw="${RW[$limit]}" --iodepth=32
	done
	for limit in "${LIMITS[@]}"; do
		fio_wait_io "$CGROOT/$limit" "$DEV" "${KEY[$limit]}"
	done
	sleep "$SETTLE_S"
}

# With the limits lifted each must do more, or they held nothing back.
check_unlimited()
{
	local limit devno i=0 bad=0 ideal args=()

	read -r devno < "/sys/block/$DEV/dev"
	for limit in "${LIMITS[@]}"; do
		echo "$devno $limit=max" > "$CGROOT/$limit/io.max"
		args+=("$CGROOT/$limit" "${KEY[$limit]}")
	done
	window 2 "$DEV" "${args[@]}"
	for limit in "${LIMITS[@]}"; do
		ideal=$((${VALUE[$limit]} * SPAN_US[i] / 1000000))
		ktap_print_msg "$limit=max: $(percent_of "${DELTA[i]}" "$ideal") %" \
			"of the former limit"
		[ "${DELTA[i]}" -gt $((ideal * 3 / 2)) ] || bad=1
		i=$((i + 1))
	done
	report "$bad" "without limits each does more than 1.5 times as much"
}

# Enters limits that held in HELD, others in EXCEEDED, and counts in JUDGED the
# windows without a stall that would explain a limit kept too strictly. Fails while
# a limit has not held.
check_limits()
{
	local limit i=0 ideal args=()

	for limit in "${LIMITS[@]}"; do
		args+=("$CGROOT/$limit" "${KEY[$limit]}")
	done
	window "$WINDOW_S" "$DEV" "${args[@]}"
	ktap_print_msg "the machine was late by $((STALL_US / 1000)) ms at worst"
	[ "$STALL_US" -ge $((SLICE_MS * 1000 / 2)) ] || JUDGED=$((JUDGED + 1))
	for limit in "${LIMITS[@]}"; do
		ideal=$((${VALUE[$limit]} * SPAN_US[i] / 1000000))
		ktap_print_msg "$limit=${VALUE[$limit]}: ${DELTA[i]} in" \
			"$((SPAN_US[i] / 1000)) ms," \
			"$(percent_of "${DELTA[i]}" "$ideal") % of the limit"
		if within "${DELTA[i]}" "$ideal" "$TOLERANCE"; then
			HELD[$limit]=1
		elif [ "${DELTA[i]}" -gt "$ideal" ]; then
			EXCEEDED[$limit]=1
		fi
		i=$((i + 1))
	done
	[ "${#HELD[@]}" -eq "${#LIMITS[@]}" ]
}

report_limits()
{
	local limit name

	for limit in "${LIMITS[@]}"; do
		name="$limit holds within $TOLERANCE %"
		if [ -n "${EXCEEDED[$limit]-}" ]; then
			ktap_test_fail "$name"
		elif [ -n "${HELD[$limit]-}" ]; then
			ktap_test_pass "$name"
		elif [ "$JUDGED" -gt 0 ]; then
			ktap_test_fail "$name"
		else
			ktap_test_skip "$name" "the machine stalls"
		fi
	done
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_cgroup_io
need_cgroup_file io.max CONFIG_BLK_DEV_THROTTLING
need_done

ktap_set_plan 6
setup
for ((n = 0; n < 3 * TRIES && JUDGED < TRIES; n++)); do
	! check_limits || break
done
report_limits
bad=0
fio_running || bad=1
report "$bad" "all loads ran through"
check_unlimited
ktap_finished
