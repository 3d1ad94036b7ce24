#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq in cgroup v1: blkio.weight and blkio.leaf_weight take 10 to 1000, and divide
# the device's time within 5 %; what blkio.time says was used is no more than there
# was. See test_cfq_weights.sh for the device and the loads.
#
# The controller is in one hierarchy at a time. Where cgroup v2 has it and nobody
# uses it, it is moved, and goes back at the end.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfqw1
TOLERANCE=5	# percent
TIME_TOLERANCE=5
SETTLE_S=1
WINDOW_S=7
LATENCY_NS=2000000
SLICE_MS=20
IODEPTH=32
NR_REQUESTS=256
RESTORE_S=10

NAMES=(a b c)
V1=

# io_stat GROUP DEVICE KEY: as in block_lib.sh, of blkio.KEY: its total if it is a
# sum of several kinds. window() and others use it.
io_stat()
{
	local devno words

	REPLY=0
	read -r devno < "/sys/block/$2/dev"
	while read -r -a words; do
		[ "${words[0]-}" = "$devno" ] || continue
		[[ ${words[1]} != [A-Z]* || ${words[1]} = Total ]] || continue
		REPLY=${words[-1]}
	done < "$1/blkio.$3"
}

# Finds blkio in cgroup v1, or moves it there, and makes a group for the test.
need_cgroup_v1()
{
	local base

	base=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2; exit }' /proc/mounts)
	if [ -z "$base" ]; then
		base=$TMP/blkio
		mkdir "$base"
		if ! mount -t cgroup -o blkio none "$base" 2> /dev/null; then
			NEEDS+=("no blkio in cgroup v1 (CONFIG_BLK_CGROUP, or cgroup v2 uses it)")
			return 0
		fi
		V1=$base
	fi
	CGROOT=$base/blk-test-$$
	mkdir "$CGROOT"
	GROUPS_MADE+=("$CGROOT")
}

# shellcheck disable=SC2317	# called by restore()
v2_has_io()
{
	local base

	base=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -z "$base" ] || grep -qw io "$base/cgroup.controllers"
}

# A hierarchy with groups that are not quite gone yet stays, without a mount, and so
# does the controller: then it has to be mounted and unmounted again.
# shellcheck disable=SC2317	# called by lib_cleanup()
restore()
{
	local n name

	fio_kill
	cg_remove_all
	GROUPS_MADE=()
	for name in "${DEVS[@]}"; do
		nullb_remove "$name"
	done
	[ -n "$V1" ] || return 0
	umount "$V1"
	for ((n = 0; n < RESTORE_S * 5; n++)); do
		! v2_has_io || return 0
		sleep 0.2
		! mount -t cgroup -o blkio none "$V1" 2> /dev/null || umount "$V1"
	done
	ktap_print_msg "cgroup v2 does not get its io controller back"
}

# limits FILE: takes 10 to 1000
limits()
{
	local file=$CGROOT/a/blkio.$1 bad=0 value

	[ "$(< "$file")" = 500 ] || bad=1
	for value in 10 1000; do
		echo "$value" > "$file" || bad=1
		[ "$(< "$file")" = "$value" ] || bad=1
	done
	for value in 0 9 1001 -1 x; do
		! { echo "$value" > "$file"; } 2> /dev/null || bad=1
		[ "$(< "$file")" = 1000 ] || bad=1
	done
	report "$bad" "blkio.$1 is 500, and takes 10 to 1000"
}

# sum_of KEY GROUP...: REPLY is that of all of them.
sum_of()
{
	local key=$1 group sum=0

	shift
	for group; do
		io_stat "$CGROOT/$group" "$DEV" "$key"
		sum=$((sum + REPLY))
	done
	REPLY=$sum
}

# same WHAT VALUE OTHER
same()
{
	[ "$2" -gt 0 ] && [ "$2" -eq "$3" ] && return 0
	ktap_print_msg "$1: $2, should be $3"
	return 1
}

# statistics GROUP...: of loads of 4 KiB that are over; the second is in the first
statistics()
{
	local bad=0 group key n

	for group; do
		sum_of io_service_bytes "$group"
		n=$REPLY
		sum_of sectors "$group"
		same "$group: sectors" "$REPLY" $((n / 512)) || bad=1
		sum_of io_queued "$group"
		[ "$REPLY" -eq 0 ] || { ktap_print_msg "$group: $REPLY queued"; bad=1; }
	done
	# A merge may be counted in another group than the service.
	sum_of io_serviced "$@"
	n=$REPLY
	sum_of io_merged "$@"
	n=$((n + REPLY))
	sum_of io_service_bytes "$@"
	same "bytes" "$REPLY" $((n * 4096)) || bad=1
	for key in time sectors io_service_bytes io_serviced io_service_time io_wait_time; do
		sum_of "$key" "$1" "$2"
		n=$REPLY
		sum_of "${key}_recursive" "$1"
		same "$1: ${key}_recursive" "$REPLY" "$n" || bad=1
	done
	report "$bad" "bytes, sectors, requests and those of descendants agree"
}

# One that is waited for, one that always has requests, and one that seldom has any
debug_loads()
{
	cfq_tune "$DEV" slice_idle 8
	fio_start "$CGROOT/a" waited "$DEV" --rw=read --bs=4k --thinktime=2000
	fio_start "$CGROOT/b" busy "$DEV" --rw=randread --bs=4k --iodepth="$IODEPTH"
	fio_start "$CGROOT/c" rare "$DEV" --rw=randread --bs=4k --thinktime=100000
	sleep "$SETTLE_S"
	wait_ios "$DEV" 200
}

debug_statistics()
{
	local bad=0 i group key args=() name="what cfq waits for is counted"

	if [ ! -e "$CGROOT/a/blkio.group_wait_time" ]; then
		ktap_test_skip "$name" "no blkio.group_wait_time (CONFIG_CFQ_CGROUP_DEBUG)"
		return 0
	fi
	debug_loads
	for group in a b c; do
		args+=("$CGROOT/$group" group_wait_time)
	done
	# Not of c: its slices may all end before their first completion.
	args+=("$CGROOT/a" unaccounted_time "$CGROOT/b" unaccounted_time)
	args+=("$CGROOT/a" idle_time "$CGROOT/c" empty_time "$CGROOT/c" dequeue)
	window "$WINDOW_S" "$DEV" "${args[@]}"
	for ((i = 0; i < ${#DELTA[@]}; i++)); do
		key="${args[i * 2]##*/}: ${args[i * 2 + 1]}"
		ktap_print_msg "$key: ${DELTA[i]} in ${SPAN_US[i]} us"
		# none of them can be more than the time that passed
		[ "${DELTA[i]}" -gt 0 ] && [ "${DELTA[i]}" -le \
			$((SPAN_US[i] * 10 * (100 + TIME_TOLERANCE))) ] || bad=1
	done
	sum_of avg_queue_size b
	ktap_print_msg "b: avg_queue_size: $REPLY"
	[ "$REPLY" -gt 0 ] && [ "$REPLY" -le "$IODEPTH" ] || bad=1
	fio_end "$DEV" || bad=1
	report "$bad" "$name"
}

# move GROUP...: of each load
move()
{
	local i=0 group

	for group; do
		echo "${FIO_PIDS[i]}" > "$CGROOT/$group/cgroup.procs"
		i=$((i + 1))
	done
}

# check NAME "GROUP..." SHARE...: whether the groups get their shares
check()
{
	local name=$1 n bad=1 group args=()

	for group in $2; do
		args+=("$CGROOT/$group" io_serviced)
	done
	for group in $2; do
		args+=("$CGROOT/$group" time)
	done
	shift 2
	sleep "$SETTLE_S"
	for ((n = 0; n < TRIES && bad; n++)); do
		window "$WINDOW_S" "$DEV" "${args[@]}"
		! shares "$TOLERANCE" "$@" || bad=0
		times $#
	done
	report "$bad" "$name"
}

# times N: the times of N groups, which are in DELTA after what was compared
times()
{
	local i sum=0 wall=$((SPAN_US[$1] * 1000))

	for ((i = $1; i < 2 * $1; i++)); do
		sum=$((sum + DELTA[i]))
	done
	ktap_print_msg "blkio.time: $((sum / 1000000)) ms in $((wall / 1000000)) ms"
	[ "$sum" -gt 0 ] && [ $((sum * 100)) -le $((wall * (100 + TIME_TOLERANCE))) ] ||
		TIMES_BAD=1
}

# weigh {GROUP WEIGHT}...
weigh()
{
	while [ $# -gt 0 ]; do
		echo "$2" > "$CGROOT/$1/blkio.weight"
		shift 2
	done
}

# loads RW
loads()
{
	local name

	for name in "${NAMES[@]}"; do
		fio_start "$CGROOT/$name" "$name" "$DEV" --rw="$1" --bs=4k \
			--iodepth="$IODEPTH"
	done
	for name in "${NAMES[@]}"; do
		fio_wait_io "$CGROOT/$name" "$DEV" io_serviced
	done
}

ktap_print_header
need_root
need_cmd fio xargs
need_nullb
need_sched cfq
need_cgroup_v1
CLEANUP=restore
need_cgroup_file blkio.leaf_weight CONFIG_CFQ_GROUP_IOSCHED
need_done

ktap_set_plan 9
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec="$LATENCY_NS" hw_queue_depth=1
cfq_on "$DEV"
echo "$NR_REQUESTS" > "/sys/block/$DEV/queue/nr_requests"
cfq_tune "$DEV" slice_sync "$SLICE_MS"
for name in "${NAMES[@]}" a/child; do
	cg_make "$name"
done
TIMES_BAD=0
limits weight
limits leaf_weight
loads randread
weigh a 100 b 200 c 400
check "readers: weights 100, 200, 400 within $TOLERANCE %" "a b c" 100 200 400
# a third, of which its own processes get a third, and two thirds
weigh a 100 a/child 200 c 200
echo 100 > "$CGROOT/a/blkio.leaf_weight"
move a a/child c
check "readers: 200 and leaf_weight 100 in 100, beside 200" "a a/child c" 100 200 600
fio_kill
idle_in_time "$DEV"
statistics a a/child c
loads randwrite
weigh a 100 b 200 c 400
check "sync writers: weights 100, 200, 400 within $TOLERANCE %" "a b c" 100 200 400
report "$TIMES_BAD" "blkio.time of all is at most that of the clock and $TIME_TOLERANCE %"
bad=0
fio_end "$DEV" || bad=1
report "$bad" "no error, and nothing is left in flight"
debug_statistics
ktap_finished
