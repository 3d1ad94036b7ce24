# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the tests of cfq share. To be sourced after block_lib.sh.

# A request that has not come back by then is lost. A process needs time of its own
# to end, on a slow machine.
CFQ_END_S=60
# What fio returns after a signal that it was ended by.
FIO_SIGNALLED=128

# cfq_on DEVICE [ROTATIONAL]: cfq's defaults depend on whether there are heads.
cfq_on()
{
	[ -z "${2-}" ] || echo "$2" > "/sys/block/$1/queue/rotational"
	set_sched "$1" cfq
}

# cfq_tune DEVICE TUNABLE VALUE
cfq_tune()
{
	echo "$3" > "/sys/block/$1/queue/iosched/$2"
}

# cfq_show DEVICE: what the scheduler is at, to explain a failure
cfq_show()
{
	local dir=/sys/kernel/debug/block/$1/sched file text

	ktap_print_msg "inflight $(xargs < "/sys/block/$1/inflight")"
	for file in queued dispatched idling active; do
		[ -r "$dir/$file" ] || continue
		text=$(< "$dir/$file")
		ktap_print_msg "$file: $text"
	done
}

# ios_done DEVICE: REPLY is how many reads and writes the device has done.
ios_done()
{
	local stat

	read -r -a stat < "/sys/block/$1/stat"
	REPLY=$((stat[0] + stat[4]))
}

# wait_ios DEVICE N [SECONDS]: until N more I/Os are done.
wait_ios()
{
	local end=$((${EPOCHREALTIME/./} + ${3-$FIO_START_S} * 1000000)) want

	ios_done "$1"
	want=$((REPLY + $2))
	while ios_done "$1"; [ "$REPLY" -lt "$want" ]; do
		if [ "${EPOCHREALTIME/./}" -gt "$end" ]; then
			ktap_print_msg "$1: no I/O for ${3-$FIO_START_S} s"
			cfq_show "$1"
			return 1
		fi
		read -rt 0.02 -u "$NEVER" || true
	done
}

# waits_show PID: where its tasks are, to explain a failure
waits_show()
{
	local task line

	for task in "/proc/$1/task"/*; do
		while read -r line; do
			ktap_print_msg "${task##*/}: $line"
		done < <(grep -hs -e ^Name: -e ^State: "$task/status"
			head -qn 6 "$task/stack" 2> /dev/null)
	done
}

# wait_end PID: whether it ends in time.
wait_end()
{
	local end=$((${EPOCHREALTIME/./} + CFQ_END_S * 1000000))

	while kill -0 "$1" 2> /dev/null; do
		if [ "${EPOCHREALTIME/./}" -gt "$end" ]; then
			ktap_print_msg "process $1 still waits after $CFQ_END_S s"
			waits_show "$1"
			return 1
		fi
		# No read: it is by its next command that bash sees for sure who ended.
		sleep 0.1
	done
}

# idle_in_time DEVICE: whether nothing is left in flight.
idle_in_time()
{
	local n reads writes

	for ((n = 0; n < CFQ_END_S * 10; n++)); do
		read -r reads writes < "/sys/block/$1/inflight"
		[ $((reads + writes)) -ne 0 ] || return 0
		read -rt 0.1 -u "$NEVER" || true
	done
	ktap_print_msg "$1: inflight $reads $writes"
	return 1
}

# fio_end DEVICE: ends each fio, and tells whether they had no error and nothing
# is left.
fio_end()
{
	local bad=0 pid status out

	for pid in "${FIO_PIDS[@]}"; do
		if ! kill -INT "$pid" 2> /dev/null; then
			ktap_print_msg "a fio ended early"
			bad=1
		fi
	done
	for pid in "${FIO_PIDS[@]}"; do
		if ! wait_end "$pid"; then
			cfq_show "$1"
			bad=1
			continue
		fi
		status=0
		wait "$pid" || status=$?
		[ "$status" -ne "$FIO_SIGNALLED" ] || continue
		ktap_print_msg "a fio ended with status $status"
		bad=1
	done
	FIO_PIDS=()
	for out in "$TMP"/*.out; do
		grep -q 'err= 0' "$out" || bad=1
	done
	[ "$bad" -eq 0 ] || fio_show_output
	rm -f "$TMP"/*.out
	idle_in_time "$1" || bad=1
	return "$bad"
}

# position PID: REPLY is how many bytes into the device a dd has read, and AT_US,
# when that was.
position()
{
	local word

	# shellcheck disable=SC2034	# for the tests
	AT_US=${EPOCHREALTIME/./}
	REPLY=0
	while read -r word REPLY; do
		[ "$word" != pos: ] || return 0
	done < "/proc/$1/fdinfo/0"
}

# shares TOLERANCE WEIGHT...: whether DELTA is divided by the weights, and nothing
# was late by so much that it would not say anything.
shares()
{
	local tolerance=$1 i sum=0 total=0 ideal bad=0 weights

	shift
	weights=("$@")
	for ((i = 0; i < $#; i++)); do
		sum=$((sum + weights[i]))
		total=$((total + DELTA[i]))
	done
	for ((i = 0; i < $#; i++)); do
		ideal=$((total * weights[i] / sum))
		ktap_print_msg "${weights[i]}: ${DELTA[i]}," \
			"$(percent_of "${DELTA[i]}" "$total") % of all," \
			"should be $(percent_of "$ideal" "$total") %"
		within "${DELTA[i]}" "$ideal" "$tolerance" || bad=1
	done
	[ "$STALL_US" -lt 50000 ] ||
		ktap_print_msg "the machine was late by $((STALL_US / 1000)) ms at worst"
	[ "$total" -gt 0 ] || bad=1
	return "$bad"
}
