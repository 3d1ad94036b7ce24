#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# BFQ idles for a queue whose process may soon send another request, for slice_idle
# and no longer. The timer of that is left to run when a request comes, and is moved
# on when it goes off too early: were it lost, or stopped, who waits for the end of
# the idling would wait for as long as the process keeps silent.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_idle
DELAY_NS=1000000
ROUNDS=10
# Who is never served would wait for longer than any machine stalls.
LIMIT_S=20
# A pipe holds one of these, so a second one is read and then not written.
BLOCK=65536

# round: a process reads twice and falls silent, and stays; another one reads
round()
{
	local silent bad=0

	dd if="/dev/$DEV" bs="$BLOCK" count=4 iflag=direct status=none > "$TMP/full" &
	silent=$!
	sleep 0.1
	timeout -s KILL "$LIMIT_S" \
		dd if="/dev/$DEV" of=/dev/null bs=4k count=1 skip=4096 iflag=direct \
		status=none || bad=1
	kill -0 "$silent" || bad=1
	kill "$silent" 2> /dev/null || :
	wait "$silent" 2> /dev/null || :
	# what it has left in the pipe
	timeout 1 dd bs="$BLOCK" count=1 of=/dev/null status=none <&"$FULL" || :
	return "$bad"
}

# check SLICE_IDLE
check()
{
	local start=$EPOCHREALTIME bad=0 i

	echo "$1" > "/sys/block/$DEV/queue/iosched/slice_idle"
	for ((i = 0; i < ROUNDS && !bad; i++)); do
		round || bad=1
	done
	ktap_print_msg "slice_idle $1: $i rounds in" \
		"$(((${EPOCHREALTIME/./} - ${start/./}) / 1000)) ms"
	report "$bad" "slice_idle $1: idling ends, and who waits is served"
}

ktap_print_header
need_root
need_cmd dd timeout
need_nullb
need_sched bfq
need_done

ktap_set_plan 2
mkfifo "$TMP/full"
exec {FULL}<> "$TMP/full"
nullb_create "$DEV" size=1024 queue_mode=2 submit_queues=1 irqmode=2 \
	completion_nsec="$DELAY_NS"
set_sched "$DEV" bfq
echo 0 > "/sys/block/$DEV/queue/iosched/low_latency"
# idle for every queue that runs empty, whatever it gains
echo 1 > "/sys/block/$DEV/queue/iosched/strict_guarantees"
check 8
check 300
ktap_finished
