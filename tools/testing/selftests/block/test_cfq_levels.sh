#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq serves processes by I/O priority: those of class BE in the ratio of their
# levels' slices, RT before all of them, IDLE when they are quiet.
#
# The readers are of one cgroup, as levels say nothing between groups; so it is
# the position in each one's file that tells how far it got. Each goes on where it
# was, in a part of its own, and cfq waits for it between two requests: without
# that it would lose its slice with the first one.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfql
LATENCY_NS=1000000
SIZE_MB=4096
# Far enough from each other for a minute of reading
PART_BLOCKS=$((SIZE_MB * 256 / 8))
SETTLE_S=1
TOLERANCE=10	# percent
# What class IDLE waits for at most, and some for a slow machine
IDLE_WAIT_S=10
IDLE_LATE_S=5
# slices by level, in percent of the base
SLICE_0=180
SLICE_4=100
SLICE_7=40

READERS=()

# reader CLASS LEVEL
reader()
{
	local args=(-c "$1")

	[ "$1" = 3 ] || args+=(-n "$2")
	ionice "${args[@]}" dd if="/dev/$DEV" of=/dev/null bs=4k iflag=direct \
		skip=$((${#READERS[@]} * PART_BLOCKS)) status=none &
	READERS+=($!)
}

# reading PID...: waits until each has read something
reading()
{
	local pid n

	for pid; do
		for ((n = 0; n < FIO_START_S * 10; n++)); do
			# before dd has it, descriptor 0 is another file
			if [ "$(readlink "/proc/$pid/fd/0")" = "/dev/$DEV" ]; then
				position "$pid"
				[ $((REPLY % (PART_BLOCKS * 4096))) -eq 0 ] || break
			fi
			read -rt 0.1 -u "$NEVER" || true
		done
	done
}

# positions SECONDS: DELTA[i] is what each reader read in that time, in KiB a
# second.
positions()
{
	local i from=() since=()

	sleep "$SETTLE_S"
	DELTA=()
	for ((i = 0; i < ${#READERS[@]}; i++)); do
		position "${READERS[i]}"
		from+=("$REPLY")
		since+=("$AT_US")
	done
	pause "$1"
	for ((i = 0; i < ${#READERS[@]}; i++)); do
		position "${READERS[i]}"
		DELTA+=($(((REPLY - from[i]) * 1000 / (AT_US - since[i]))))
	done
}

readers_end()
{
	local pid bad=0

	# All at once: the request of one may wait for the end of another.
	kill -KILL "${READERS[@]}" 2> /dev/null || true
	for pid in "${READERS[@]}"; do
		wait_end "$pid" || bad=1
		wait "$pid" 2> /dev/null || true
	done
	READERS=()
	idle_in_time "$DEV" || bad=1
	return "$bad"
}

levels()
{
	local n bad=1

	reader 2 0
	reader 2 4
	reader 2 7
	reading "${READERS[@]}"
	for ((n = 0; n < TRIES && bad; n++)); do
		positions 8
		! shares "$TOLERANCE" "$SLICE_0" "$SLICE_4" "$SLICE_7" || bad=0
	done
	readers_end || bad=1
	report "$bad" "levels 0, 4 and 7 get 1.8 : 1 : 0.4 within $TOLERANCE %"
}

# part NAME I FROM BELOW: whether what reader I got, in percent of all, is that
part()
{
	local total=0 delta

	for delta in "${DELTA[@]}"; do
		total=$((total + delta))
	done
	ktap_print_msg "$1: ${DELTA[$2]} of $total KiB/s," \
		"$(percent_of "${DELTA[$2]}" "$total") %"
	[ "$total" -gt 0 ] && [ $((DELTA[$2] * 100)) -ge $((total * $3)) ] &&
		[ $((DELTA[$2] * 100)) -lt $((total * $4)) ]
}

realtime()
{
	local n bad=1

	reader 1 7
	reader 2 0
	reading "${READERS[0]}"
	for ((n = 0; n < TRIES && bad; n++)); do
		positions 3
		! part "rt/7 beside be/0" 0 95 101 || bad=0
	done
	report "$bad" "RT takes at least 95 % beside BE"

	# a new priority holds from the next request on
	ionice -c 2 -n 0 -p "${READERS[0]}"
	ionice -c 1 -n 7 -p "${READERS[1]}"
	bad=1
	for ((n = 0; n < TRIES && bad; n++)); do
		positions 3
		! part "that became rt/7" 1 95 101 || bad=0
	done
	readers_end || bad=1
	report "$bad" "and so does who becomes RT"
}

# moves I SECONDS: whether the reader gets anything in that time
moves()
{
	local from end=$((${EPOCHREALTIME/./} + $2 * 1000000))

	position "${READERS[$1]}"
	from=$REPLY
	while [ "${EPOCHREALTIME/./}" -lt "$end" ]; do
		position "${READERS[$1]}"
		[ "$REPLY" -eq "$from" ] || return 0
		read -rt 0.1 -u "$NEVER" || true
	done
	ktap_print_msg "reader $1: stays at $from for $2 s"
	return 1
}

never_starved()
{
	local bad=0 n

	for n in 1 2; do
		moves 1 $((IDLE_WAIT_S + IDLE_LATE_S)) || bad=1
	done
	report "$bad" "but something each $IDLE_WAIT_S s"
}

idle()
{
	local n bad=1 alone

	reader 2 7
	reader 3 7
	reading "${READERS[0]}"
	for ((n = 0; n < TRIES && bad; n++)); do
		positions 4
		! part "idle beside be/7" 1 0 1 || bad=0
	done
	report "$bad" "IDLE gets less than 1 % while BE is busy"
	never_starved

	kill -KILL "${READERS[0]}"
	wait "${READERS[0]}" 2> /dev/null || true
	READERS=("${READERS[1]}")
	bad=1
	for ((n = 0; n < TRIES && bad; n++)); do
		positions 2
		alone=${DELTA[0]}
		ktap_print_msg "idle, BE is quiet: $alone KiB/s"
		[ "$alone" -lt 100 ] || bad=0
	done
	readers_end || bad=1
	report "$bad" "and something once BE is quiet"
}

# shellcheck disable=SC2317	# called by lib_cleanup()
cleanup()
{
	readers_end || true
}

ktap_print_header
need_root
need_cmd dd ionice readlink
need_nullb
need_sched cfq
need_done

ktap_set_plan 6
nullb_create "$DEV" size="$SIZE_MB" queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec="$LATENCY_NS" hw_queue_depth=16
CLEANUP=cleanup
cfq_on "$DEV" 1
levels
realtime
idle
ktap_finished
