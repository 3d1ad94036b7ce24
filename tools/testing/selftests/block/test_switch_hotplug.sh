#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# I/O schedulers are switched and a CPU goes off and on, both again and again,
# under load. No request is lost, and the times that the kernel booked are
# possible: a request's time cannot exceed the test's, nor can that of all
# requests exceed it times the number that were in flight.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_switch
SCHEDS=(none mq-deadline kyber bfq)
SWITCHES=100
HOTPLUGS=20
CPU=/sys/devices/system/cpu/cpu1/online

JOBS=2
IODEPTH=16
# A request that has not come back by then is lost.
END_S=20
# What fio returns after a signal that it was ended by.
FIO_SIGNALLED=128

START_US=

setup()
{
	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 \
		submit_queues="$(nproc)" completion_nsec=500000 hw_queue_depth=32
	START_US=${EPOCHREALTIME/./}
	fio_start - load "$DEV" --rw=randrw --bs=4k --numjobs="$JOBS" \
		--iodepth="$IODEPTH" --group_reporting
	wait_for_io 1
}

ios_done()
{
	local stat

	read -r -a stat < "/sys/block/$DEV/stat"
	echo $((stat[0] + stat[4]))
}

# wait_for_io N: until N more I/Os are done.
wait_for_io()
{
	local n want=$(($(ios_done) + $1))

	for ((n = 0; n < FIO_START_S * 10; n++)); do
		[ "$(ios_done)" -lt "$want" ] || return 0
		fio_running || return 1
		sleep 0.1
	done
	ktap_print_msg "no I/O for $FIO_START_S s"
	fio_show_output
	return 1
}

switch_loop()
{
	local i

	for ((i = 1; i <= SWITCHES; i++)); do
		set_sched "$DEV" "${SCHEDS[i % ${#SCHEDS[@]}]}" || return 1
	done
	ktap_print_msg "$SWITCHES switches after $(seconds) s"
}

hotplug_loop()
{
	local i

	for ((i = 1; i <= HOTPLUGS; i++)); do
		echo 0 > "$CPU" || return 1
		echo 1 > "$CPU" || return 1
	done
	ktap_print_msg "$HOTPLUGS cycles of CPU 1 after $(seconds) s"
}

seconds()
{
	echo $(((${EPOCHREALTIME/./} - START_US) / 1000000))
}

# Ends fio and checks that it had no error and waits for no request.
check_fio()
{
	local pid=${FIO_PIDS[0]} n bad=0 status=0

	kill -INT "$pid" 2> /dev/null || true
	for ((n = 0; n < END_S * 10; n++)); do
		kill -0 "$pid" 2> /dev/null || break
		sleep 0.1
	done
	if kill -0 "$pid" 2> /dev/null; then
		ktap_print_msg "fio still waits after $END_S s," \
			"inflight $(< "/sys/block/$DEV/inflight")"
		bad=1
	else
		wait "$pid" || status=$?
		[ "$status" -eq "$FIO_SIGNALLED" ] || bad=1
		grep -q 'err= 0' "$TMP/load.out" || bad=1
		ktap_print_msg "fio ended with status $status"
	fi
	[ "$bad" -eq 0 ] || fio_show_output
	report "$bad" "fio ends without an error"
}

check_inflight()
{
	local n reads=1 writes=1 bad=0

	for ((n = 0; n < 20; n++)); do
		read -r reads writes < "/sys/block/$DEV/inflight"
		[ $((reads + writes)) -ne 0 ] || break
		sleep 0.1
	done
	ktap_print_msg "inflight $reads $writes"
	[ $((reads + writes)) -eq 0 ] || bad=1
	report "$bad" "nothing is left in flight"
}

# In /sys/block/X/stat 3 and 7 are the ms of all reads and writes, 9 is the time
# with I/O in flight, 10 the time of all requests.
check_times()
{
	local stat bad=0 wall max

	read -r -a stat < "/sys/block/$DEV/stat"
	wall=$(((${EPOCHREALTIME/./} - START_US) / 1000))
	max=$((wall * JOBS * IODEPTH))
	ktap_print_msg "$((stat[0] + stat[4])) I/Os in $wall ms:" \
		"reads ${stat[3]} ms, writes ${stat[7]} ms," \
		"io_ticks ${stat[9]} ms, in queue ${stat[10]} ms (at most $max)"
	[ $((stat[3] + stat[7])) -le "$max" ] || bad=1
	[ $((stat[3] + stat[7])) -gt 0 ] || bad=1
	[ "${stat[9]}" -le "$wall" ] || bad=1
	[ "${stat[10]}" -le "$max" ] || bad=1
	report "$bad" "the times in the device's stat are possible"
}

check_each_sched()
{
	local sched bad=0

	for sched in "${SCHEDS[@]}"; do
		set_sched "$DEV" "$sched" || bad=1
		if ! wait_for_io 50; then
			ktap_print_msg "no I/O under $sched"
			bad=1
			break
		fi
	done
	report "$bad" "I/O goes on under ${SCHEDS[*]}"
}

# shellcheck disable=SC2317	# called by lib_cleanup()
cpu_online()
{
	[ ! -e "$CPU" ] || [ "$(< "$CPU")" = 1 ] || echo 1 > "$CPU"
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_sched mq-deadline kyber bfq
[ -e "$CPU" ] || NEEDS+=("no $CPU (CONFIG_HOTPLUG_CPU, two CPUs)")
need_done

ktap_set_plan 6
CLEANUP=cpu_online
setup
hotplug_loop &
hotplug=$!
bad=0
switch_loop || bad=1
report "$bad" "$SWITCHES scheduler switches under load"
bad=0
wait "$hotplug" || bad=1
fio_running || bad=1
report "$bad" "$HOTPLUGS times CPU 1 off and on under load"
check_each_sched
check_fio
check_inflight
check_times
ktap_finished
