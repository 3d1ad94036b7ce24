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
WINDOW_S=8
SETTLE_S=2

# Low enough for a slow machine to exceed when nothing holds it back. Limits are
# granted in slices of 20 or 100 ms, each rounded down: 50 a second is a whole
# number in either.
BPS=$((256 * 1024))
IOPS=50

LIMITS=(rbps wbps riops wiops)
declare -A VALUE=([rbps]=$BPS [wbps]=$BPS [riops]=$IOPS [wiops]=$IOPS)
declare -A KEY=([rbps]=rbytes [wbps]=wbytes [riops]=rios [wiops]=wios)
declare -A RW=([rbps]=randread [wbps]=randwrite [riops]=randread [wiops]=randwrite)

setup()
{
	local limit devno

	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec=100000 hw_queue_depth=64
	set_sched "$DEV" none
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

# check_limit LIMIT AMOUNT TIME
check_limit()
{
	local ideal=$((${VALUE[$1]} * $3 / 1000000)) bad=0

	ktap_print_msg "$1=${VALUE[$1]}: $2 in $(($3 / 1000)) ms," \
		"$(percent_of "$2" "$ideal") % of the limit"
	within "$2" "$ideal" "$TOLERANCE" || bad=1
	report "$bad" "$1 holds within $TOLERANCE %"
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

check_limits()
{
	local limit i=0 args=()

	for limit in "${LIMITS[@]}"; do
		args+=("$CGROOT/$limit" "${KEY[$limit]}")
	done
	window "$WINDOW_S" "$DEV" "${args[@]}"
	for limit in "${LIMITS[@]}"; do
		check_limit "$limit" "${DELTA[i]}" "${SPAN_US[i]}"
		i=$((i + 1))
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
check_limits
bad=0
fio_running || bad=1
report "$bad" "all loads ran through"
check_unlimited
ktap_finished
