#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq loses no request, whatever is done to it under load: the scheduler is
# switched, cgroups come and go, the device or the module is removed, tasks are
# killed, each request has another I/O priority, memory is short. What it does
# wrong there shows as a request that never comes back, as an error of fio, or as a
# complaint of lockdep and its like in the kernel's log.
#
# CFQ_SWITCHES, CFQ_CGROUPS, CFQ_REMOVALS, CFQ_MODULES, CFQ_KILLS, CFQ_PRIOS,
# CFQ_FAILURES: how often.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

SWITCHES=${CFQ_SWITCHES:-500}
CGROUPS=${CFQ_CGROUPS:-1000}
REMOVALS=${CFQ_REMOVALS:-4}
MODULES=${CFQ_MODULES:-10}
KILLS=${CFQ_KILLS:-12}
PRIOS=${CFQ_PRIOS:-40}
FAILURES=${CFQ_FAILURES:-30}

DEV=blkt_cfq
SCHEDS=(none mq-deadline bfq)
IODEPTH=16
# A cgroup that is removed is to have requests in the scheduler still.
CGROUP_BATCH=10
CGROUP_WEIGHTS=(1 100 10000)
# All classes, by the class's number and the level, a fifth of the requests each;
# the rest has the process's own.
PRIO_SPLIT=4k/20/1/0:4k/20/2/0:4k/20/2/7:4k/20/3/0
FAILSLAB=/sys/kernel/debug/failslab
FAIL_CACHE=/sys/kernel/slab/cfq_queue/failslab
FAIL_PERCENT=50
FAIL_OLD=()

START_US=

begin()
{
	START_US=${EPOCHREALTIME/./}
}

# done_case BAD NAME
done_case()
{
	ktap_print_msg "took $(((${EPOCHREALTIME/./} - START_US) / 1000)) ms"
	report "$1" "$2"
}

# load GROUP NAME [OPTION]...: reads and writes, several at a time
load()
{
	local group=$1 name=$2

	shift 2
	fio_start "$group" "$name" "$DEV" --rw=randrw --bs=4k --numjobs=2 \
		--iodepth="$IODEPTH" --group_reporting "$@"
}

# --- The scheduler is switched

switch_loop()
{
	local i

	for ((i = 1; i <= SWITCHES; i++)); do
		if ((i % 2)); then
			set_sched "$DEV" "${SCHEDS[i / 2 % ${#SCHEDS[@]}]}" || return 1
		else
			set_sched "$DEV" cfq || return 1
		fi
	done
}

switches()
{
	local bad=0 sched have=()

	for sched in "${SCHEDS[@]}"; do
		modprobe -q "$sched" 2> /dev/null || true
		! grep -qw -- "$sched" "/sys/block/$DEV/queue/scheduler" ||
			have+=("$sched")
	done
	SCHEDS=("${have[@]}")
	begin
	cfq_on "$DEV"
	load - switches
	wait_ios "$DEV" 1 || bad=1
	switch_loop || bad=1
	cfq_on "$DEV"
	wait_ios "$DEV" 100 || bad=1
	fio_end "$DEV" || bad=1
	done_case "$bad" "$SWITCHES switches between cfq and ${SCHEDS[*]}"
}

# --- cgroups come and go

# cgroup_batch N: CGROUP_BATCH groups from N on are made, all loads are moved into
# each in turn, and those that are empty again are removed while what was queued
# there may still wait. The last ones go with the next batch.
cgroup_batch()
{
	local i groups=()

	for ((i = $1; i < $1 + CGROUP_BATCH; i++)); do
		groups+=("$CGROOT/r$i")
	done
	mkdir "${groups[@]}"
	for ((i = 0; i < CGROUP_BATCH; i++)); do
		echo "${CGROUP_WEIGHTS[i % 3]}" > "${groups[i]}/io.cfq.weight"
		echo "${FIO_PIDS[i % 2]}" > "${groups[i]}/cgroup.procs"
	done
	rmdir "${LAST[@]}" "${groups[@]:0:CGROUP_BATCH - 2}"
	LAST=("${groups[@]: -2}")
}

cgroups()
{
	local i bad=0 name="$CGROUPS cgroups made, moved to, and removed"

	if [ ! -e "$CGROOT/io.cfq.weight" ]; then
		ktap_test_skip "$name" "no io.cfq.weight (CONFIG_CFQ_GROUP_IOSCHED)"
		return 0
	fi
	begin
	cfq_on "$DEV"
	LAST=()
	load - moved_a
	load - moved_b
	wait_ios "$DEV" 100 || bad=1
	for ((i = 0; i < CGROUPS && !bad; i += CGROUP_BATCH)); do
		cgroup_batch "$i" || bad=1
	done
	wait_ios "$DEV" 100 || bad=1
	fio_end "$DEV" || bad=1
	remove_groups
	done_case "$bad" "$name"
}

# Those that a batch has left, as often as the tasks in there take to go
remove_groups()
{
	local n group

	for ((n = 0; n < 50; n++)); do
		for group in "$CGROOT"/r[0-9]*; do
			[ ! -d "$group" ] || rmdir "$group" 2> /dev/null || true
		done
		[ -n "$(compgen -G "$CGROOT/r[0-9]*")" ] || break
		sleep 0.1
	done
}

# --- The device is removed

# One that is slow, so that requests pile up in the scheduler
removals()
{
	local i bad=0 rt be idle dev=blkt_cfq_gone

	begin
	for ((i = 0; i < REMOVALS; i++)); do
		nullb_create "$dev" size=1024 queue_mode=2 irqmode=2 \
			submit_queues=1 completion_nsec=2000000 hw_queue_depth=2
		# waiting for the active queue must not stand in the way either
		cfq_on "$dev" $((i % 2))
		echo 64 > "/sys/block/$dev/queue/nr_requests"
		fio_start - gone "$dev" --rw=randrw --bs=4k --numjobs=2 --iodepth=32
		wait_ios "$dev" 20 || bad=1
		read -r rt be idle < "/sys/kernel/debug/block/$dev/sched/queued"
		ktap_print_msg "removed with $((rt + be + idle)) requests queued"
		[ "$be" -gt 0 ] || bad=1
		echo 0 > "$NULLB/$dev/power" || bad=1
		wait_end "${FIO_PIDS[0]}" || bad=1
		wait "${FIO_PIDS[0]}" || true
		FIO_PIDS=()
		rm -f "$TMP"/*.out
		[ ! -e "/sys/block/$dev" ] || bad=1
		nullb_remove "$dev"
	done
	done_case "$bad" "$REMOVALS times a device removed with I/O queued"
}

# --- The module is removed

module_round()
{
	cfq_on "$DEV"
	wait_ios "$DEV" 20 || return 1
	if rmmod cfq 2> /dev/null; then
		ktap_print_msg "the module could be removed while in use"
		return 1
	fi
	set_sched "$DEV" none
	rmmod cfq || return 1
	! grep -qw cfq "/sys/block/$DEV/queue/scheduler" || return 1
	modprobe cfq || return 1
}

modules()
{
	local i bad=0 name="$MODULES times the module removed and loaded"

	if [ ! -e /sys/module/cfq/refcnt ]; then
		ktap_test_skip "$name" "cfq is no module (CONFIG_IOSCHED_CFQ=m)"
		return 0
	fi
	begin
	load - module
	for ((i = 0; i < MODULES && !bad; i++)); do
		module_round || bad=1
	done
	cfq_on "$DEV"
	wait_ios "$DEV" 20 || bad=1
	fio_end "$DEV" || bad=1
	done_case "$bad" "$name"
}

# --- Tasks are killed

# kill_round I: some read one at a time, one many, and half of them writes
kill_round()
{
	local i pid pids=()

	for i in 1 2 3; do
		dd if="/dev/$DEV" of=/dev/null bs=4k skip="$(($1 * 4096 + i * 1024))" \
			iflag=direct status=none 2> /dev/null &
		pids+=($!)
	done
	dd if=/dev/zero of="/dev/$DEV" bs=64k count=1024 status=none 2> /dev/null &
	pids+=($!)
	# each time at another point of their start or work
	read -rt "0.$(($1 % 3 + 1))" -u "$NEVER" || true
	kill -KILL "${pids[@]}" 2> /dev/null || true
	for pid in "${pids[@]}"; do
		wait_end "$pid" || return 1
		wait "$pid" 2> /dev/null || true
	done
}

# A fio of many requests at a time is killed every so often, and started again.
kills()
{
	local i victim='' bad=0

	begin
	cfq_on "$DEV" 1
	load - kills
	wait_ios "$DEV" 100 || bad=1
	for ((i = 0; i < KILLS && !bad; i++)); do
		if ((i % 4 == 0)); then
			load - victim
			victim=${FIO_PIDS[1]}
		fi
		kill_round "$i" || bad=1
		((i % 4 == 3)) || continue
		kill -KILL "$victim" || bad=1
		wait_end "$victim" || bad=1
		wait "$victim" 2> /dev/null || true
		FIO_PIDS=("${FIO_PIDS[0]}")
		rm "$TMP/victim.out"
		wait_ios "$DEV" 20 || bad=1
	done
	if [ "${#FIO_PIDS[@]}" -gt 1 ]; then
		kill -KILL "$victim" || true
		FIO_PIDS=("${FIO_PIDS[0]}")
		rm -f "$TMP/victim.out"
	fi
	fio_end "$DEV" || bad=1
	done_case "$bad" "tasks killed with I/O in flight, $KILLS times"
}

# --- Each request has another priority

prios()
{
	local i bad=0 args seen='' active tasks

	begin
	cfq_on "$DEV" "$1"
	load - each --cmdprio_bssplit="$PRIO_SPLIT"
	load - renice
	wait_ios "$DEV" 20 || bad=1
	for ((i = 0; i < PRIOS; i++)); do
		args=(-c $((i % 3 + 1)))
		((i % 3 == 2)) || args+=(-n $((i % 8)))
		# the threads are processes to the scheduler
		tasks=("/proc/${FIO_PIDS[1]}/task/"*)
		ionice "${args[@]}" -p "${tasks[@]##*/}" || bad=1
		[ -r "/sys/kernel/debug/block/$DEV/sched/active" ] || continue
		active=$(< "/sys/kernel/debug/block/$DEV/sched/active")
		[[ ! $active =~ (rt|be|idle)/[0-7] || $seen = *${BASH_REMATCH[0]}* ]] ||
			seen+="${BASH_REMATCH[0]} "
	done
	ktap_print_msg "seen: $seen"
	wait_ios "$DEV" 20 || bad=1
	fio_end "$DEV" || bad=1
	done_case "$bad" "another I/O priority for each request, rotational $1"
}

# --- There is no memory

# shellcheck disable=SC2317	# called by lib_cleanup() as well
failures_off()
{
	local i

	for ((i = 0; i < ${#FAIL_OLD[@]}; i += 2)); do
		echo "${FAIL_OLD[i + 1]}" > "${FAIL_OLD[i]}" || true
	done
	FAIL_OLD=()
}

# fail_set FILE VALUE
fail_set()
{
	FAIL_OLD=("$1" "$(< "$1")" "${FAIL_OLD[@]}")
	echo "$2" > "$1"
}

# Those of queues if these have a cache of their own, else all that may not sleep
# of tasks that say so, which are the loads and nobody else.
failures_on()
{
	fail_set "$FAILSLAB/probability" 0
	fail_set "$FAILSLAB/times" -1
	fail_set "$FAILSLAB/verbose" 0
	fail_set "$FAILSLAB/ignore-gfp-wait" Y
	if fail_set "$FAIL_CACHE" 1 2> /dev/null; then
		ktap_print_msg "failures of the cache of queues"
		fail_set "$FAILSLAB/cache-filter" Y
	else
		ktap_print_msg "failures of what may not sleep in the loads' tasks"
		FAIL_OLD=("${FAIL_OLD[@]:2}")
		fail_set "$FAILSLAB/task-filter" Y
	fi
	fail_set "$FAILSLAB/probability" "$FAIL_PERCENT"
}

# Each process needs a queue when it begins.
failure_round()
{
	local i pid pids=()

	for i in 1 2 3; do
		(
			[ ! -e /proc/self/make-it-fail ] ||
				echo 1 > "/proc/$BASHPID/make-it-fail"
			exec dd if="/dev/$DEV" of=/dev/null bs=4k count=8 \
				skip="$(($1 * 4096 + i * 1024))" iflag=direct status=none
		) &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait_end "$pid" && wait "$pid" || return 1
	done
}

failures()
{
	local i bad=0 name="allocations of queues fail, $FAILURES times"

	if [ ! -d "$FAILSLAB" ]; then
		ktap_test_skip "$name" \
			"no $FAILSLAB (CONFIG_FAILSLAB, CONFIG_FAULT_INJECTION_DEBUG_FS)"
		return 0
	fi
	begin
	cfq_on "$DEV"
	failures_on
	load - failures
	wait_ios "$DEV" 20 || bad=1
	for ((i = 0; i < FAILURES && !bad; i++)); do
		failure_round "$i" || bad=1
	done
	failures_off
	fio_end "$DEV" || bad=1
	done_case "$bad" "$name"
}

# shellcheck disable=SC2317	# called by lib_cleanup()
cleanup()
{
	failures_off
	fio_kill
	[ -z "$CGROOT" ] || remove_groups
}

ktap_print_header
need_root
need_cmd fio dd ionice xargs
need_nullb
need_sched cfq
need_cgroup_io
need_done

ktap_set_plan 8
CLEANUP=cleanup
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues="$(nproc)" \
	completion_nsec=500000 hw_queue_depth=32
switches
cgroups
removals
modules
kills
prios 0
prios 1
failures
ktap_finished
