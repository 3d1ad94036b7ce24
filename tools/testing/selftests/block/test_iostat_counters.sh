#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the books say of I/O is what was done, to the byte and to the count: in
# /sys/block/*/stat, /proc/diskstats and io.stat, of a device and of its
# partition, for reads, writes and discards. What is under way is in flight, and
# nothing is afterwards; and a device is busy for as long as it had something to
# do, within what ticks allow.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_count
PART=${DEV}1
NR_READS=100
NR_WRITES=50
READ_BYTES=4096
WRITE_BYTES=16384
DISCARD_BYTES=1048576
SLOW=blkt_slow
SLOW_NS=500000000
NR_SLOW=3

# The fields of stat that count, all but the times.
counters()
{
	awk '{ print $1, $2, $3, $5, $6, $7, $12, $13, $14, $9 }' "/sys/block/$DEV/$1stat"
}

# do_io FILE: reads, writes and discards, one at a time
do_io()
{
	dd if="$1" of=/dev/null bs="$READ_BYTES" count="$NR_READS" iflag=direct status=none
	dd if=/dev/zero of="$1" bs="$WRITE_BYTES" count="$NR_WRITES" oflag=direct status=none
	# forced: it does not look for what would be lost
	blkdiscard -f -l "$DISCARD_BYTES" "$1"
}

# The same, as counters() would have it. Where $1 is 0, nothing.
expected()
{
	echo "$(($1 * NR_READS)) 0 $(($1 * NR_READS * READ_BYTES / 512))" \
		"$(($1 * NR_WRITES)) 0 $(($1 * NR_WRITES * WRITE_BYTES / 512))" \
		"$(($1 * 1)) 0 $(($1 * DISCARD_BYTES / 512)) 0"
}

# differ BEFORE AFTER: field by field; what is in flight is not a sum
differ()
{
	local -a a b
	local i

	read -r -a a <<< "$1"
	read -r -a b <<< "$2"
	for ((i = 0; i < 9; i++)); do
		b[i]=$((b[i] - a[i]))
	done
	echo "${b[*]}"
}

# same NAME GOT WANTED
same()
{
	local bad=0

	if [ "$2" != "$3" ]; then
		ktap_print_msg "$1: '$2', not '$3'"
		bad=1
	fi
	report "$bad" "$1"
}

# check_counters NAME FILE PART_FACTOR
check_counters()
{
	local whole part

	whole=$(counters "") part=$(counters "$PART/")
	do_io "$2"
	same "$1: the device's counters" "$(differ "$whole" "$(counters "")")" "$(expected 1)"
	same "$1: the partition's counters" "$(differ "$part" "$(counters "$PART/")")" \
		"$(expected "$3")"
}

check_diskstats()
{
	local name

	for name in "$DEV" "$PART"; do
		[ "$name" = "$DEV" ] && stat=stat || stat=$PART/stat
		same "/proc/diskstats agrees with stat: $name" \
			"$(awk -v n="$name" '$3 == n { $1 = $2 = $3 = ""; print }' \
				/proc/diskstats | xargs)" \
			"$(xargs < "/sys/block/$DEV/$stat")"
	done
}

check_io_stat()
{
	local keys=() key wbytes=$((NR_WRITES * WRITE_BYTES))

	(
		echo "$BASHPID" > "$CGROOT/count/cgroup.procs"
		do_io "/dev/$DEV"
	)
	for key in rios rbytes wios wbytes dios dbytes; do
		io_stat "$CGROOT/count" "$DEV" "$key"
		keys+=("$REPLY")
	done
	same "io.stat counts the same" "${keys[*]}" \
		"$NR_READS $((NR_READS * READ_BYTES)) $NR_WRITES $wbytes 1 $DISCARD_BYTES"
}

# Reads that take half a second each, all at a time, on a device that had nothing
# to do before.
check_inflight()
{
	local before after busy i pids=() seen tick_ms=10 stall=200

	read -r -a before < "/sys/block/$SLOW/stat"
	for ((i = 0; i < NR_SLOW; i++)); do
		dd if="/dev/$SLOW" of=/dev/null bs=4k count=1 skip="$((i * 100))" \
			iflag=direct status=none &
		pids+=($!)
	done
	seen=0
	for ((i = 0; i < 100; i++)); do
		# shellcheck disable=SC2034	# a name for what is skipped
		read -r reads writes < "/sys/block/$SLOW/inflight"
		[ "$reads" -le "$seen" ] || seen=$reads
		[ "$seen" -lt "$NR_SLOW" ] || break
		sleep 0.01
	done
	wait "${pids[@]}"
	same "what is under way is in flight" "$seen" "$NR_SLOW"
	same "nothing is afterwards" "$(xargs < "/sys/block/$SLOW/inflight")" "0 0"
	read -r -a after < "/sys/block/$SLOW/stat"
	busy=$((after[9] - before[9]))
	ktap_print_msg "$NR_SLOW reads of $((SLOW_NS / 1000000)) ms: busy for $busy ms"
	# one after the other they would take three times as long
	[ "$busy" -ge $((SLOW_NS / 1000000 - 2 * tick_ms)) ] &&
		[ "$busy" -le $((SLOW_NS / 1000000 + stall)) ] && i=0 || i=1
	report "$i" "busy for as long as there was something to do"
}

ktap_print_header
need_root
need_cmd dd blkdiscard addpart xargs
need_nullb
need_cgroup_io
need_done

ktap_set_plan 10
nullb_create "$DEV" size=64 queue_mode=2 irqmode=0 submit_queues=1 memory_backed=1 \
	discard=1
addpart "/dev/$DEV" 1 2048 65536
for _ in {1..50}; do
	[ ! -b "/dev/$PART" ] || break
	sleep 0.1
done
cg_make count
check_counters "device" "/dev/$DEV" 0
check_counters "partition" "/dev/$PART" 1
check_diskstats
check_io_stat
nullb_create "$SLOW" size=64 queue_mode=2 irqmode=2 completion_nsec="$SLOW_NS" \
	submit_queues=1
check_inflight
ktap_finished
