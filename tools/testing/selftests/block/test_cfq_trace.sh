#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What cfq tells of its work: the files in debugfs while there is load and when there
# is none, and blktrace's messages of the start of a slice, and of its end with the
# reason and the charge; of processes that share a queue for a while.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfqd
SCHED=/sys/kernel/debug/block/$DEV/sched
TRACE=/sys/kernel/tracing
LATENCY_NS=1000000
LOOKS=200
# So often it is looked for a message, each time after some I/O.
TRACES=100
# Four times what cfq takes for a seek: readers are close at times only.
MEET_SIZE=16m
SLICES="blktrace: slices start, and end with reason and charge"
COOPERATE="blktrace: cooperating readers share a queue and split again"
COOPERATE_END="they end without an error"

# matches FILE REGEX: whether what FILE says is of that form
matches()
{
	local text

	text=$(< "$SCHED/$1")
	[[ $text =~ ^$2$ ]] && return 0
	ktap_print_msg "$1: '$text' does not match '$2'"
	return 1
}

# forms: whether all files have the form that they should
forms()
{
	local queue="pid [0-9]+ (rt|be|idle)/[0-7] (async|seeky|sync)"

	matches queued "[0-9]+ [0-9]+ [0-9]+" && matches dispatched "[0-9]+ [0-9]+" &&
		matches idling "[0-9]+" &&
		matches active "none|$queue queued [0-9]+ dispatched [0-9]+"
}

# Each of the numbers is seen to be other than 0 at some time, in its place.
loaded()
{
	local i bad=0 rt be idle sync ns seen=' '

	for ((i = 0; i < LOOKS && !bad; i++)); do
		forms || bad=1
		read -r rt be idle < "$SCHED/queued"
		[ $((rt + idle)) -eq 0 ] || bad=1
		[ "$be" -eq 0 ] || seen+="queued "
		read -r sync _ < "$SCHED/dispatched"
		[ "$sync" -eq 0 ] || seen+="dispatched "
		read -r ns < "$SCHED/idling"
		[ "$ns" -eq 0 ] || seen+="idling "
		[ "$ns" -le 8000000 ] || bad=1
		[ "$(< "$SCHED/active")" = none ] || seen+="active "
	done
	for i in queued dispatched idling active; do
		[[ $seen = *" $i "* ]] || { ktap_print_msg "$i: always none"; bad=1; }
	done
	report "$bad" "debugfs tells of queues, device, idling and who is served"
}

unloaded()
{
	local bad=0

	matches queued "0 0 0" && matches dispatched "0 0" && matches idling 0 &&
		matches active none || bad=1
	report "$bad" "and of nothing once there is none"
}

# shellcheck disable=SC2317	# called by lib_cleanup() as well
trace_off()
{
	[ ! -e "/sys/block/$DEV/trace/enable" ] || echo 0 > "/sys/block/$DEV/trace/enable"
	echo nop > "$TRACE/current_tracer"
}

# said REGEX...: whether there are messages of all these forms
said()
{
	local regex

	for regex; do
		grep -Eq "m +N cfq[0-9]+[SA] $regex" "$TRACE/trace" || return 1
	done
}

show_messages()
{
	local line

	{ grep ' N cfq' "$TRACE/trace" || true; } | tail -n 10 | while read -r line; do
		ktap_print_msg "$line"
	done
}

# skip_messages NAME...: whether there can be none: then all these are skipped
skip_messages()
{
	local name

	[ ! -e "/sys/block/$DEV/trace/enable" ] || return 1
	for name; do
		ktap_test_skip "$name" "no blktrace (CONFIG_BLK_DEV_IO_TRACE)"
	done
}

# messages NAME REGEX...: looks for them while there is load
messages()
{
	local bad=1 n name=$1

	shift
	CLEANUP=trace_off
	echo blk > "$TRACE/current_tracer"
	echo 1 > "/sys/block/$DEV/trace/enable"
	echo notify > "/sys/block/$DEV/trace/act_mask"
	for ((n = 0; n < TRACES && bad; n++)); do
		wait_ios "$DEV" 100 || break
		! said "$@" || bad=0
	done
	[ "$bad" -eq 0 ] || show_messages
	trace_off
	CLEANUP=
	report "$bad" "$name"
}

# Two processes that read the same part, one of them faster: they meet and part,
# again and again.
cooperate()
{
	local bad=0

	! skip_messages "$COOPERATE" "$COOPERATE_END" || return 0
	fio_start - slow "$DEV" --rw=read:4k --bs=4k --size="$MEET_SIZE"
	fio_start - fast "$DEV" --rw=read:8k --bs=4k --size="$MEET_SIZE"
	messages "$COOPERATE" "expires, goes on in another queue" "splits"
	fio_end "$DEV" || bad=1
	report "$bad" "$COOPERATE_END"
}

ktap_print_header
need_root
need_cmd dd fio ionice xargs
need_nullb
need_sched cfq
need_done

ktap_set_plan 6
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec="$LATENCY_NS" hw_queue_depth=16
cfq_on "$DEV" 1
# short slices, so that each ends soon
cfq_tune "$DEV" slice_sync 10
# one that is waited for, and one with a queue
fio_start - one "$DEV" --rw=read --bs=4k --iodepth=1
fio_start - many "$DEV" --rw=randread --bs=4k --iodepth=32
wait_ios "$DEV" 100
loaded
skip_messages "$SLICES" ||
	messages "$SLICES" 'slice start, [0-9]+ ns' \
		'expires, used up: [0-9]+ ns, [0-9]+ requests, charge [0-9]+'
bad=0
fio_end "$DEV" || bad=1
report "$bad" "no error, and nothing is left in flight"
unloaded
cooperate
ktap_finished
