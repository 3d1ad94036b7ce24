#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq keeps readers going: one beside eight buffered writers keeps at least 80 %
# of what it reads alone, and one with a request at a time waits no longer than
# target_latency, in 99 % of cases, where 16 others take all that they can get.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfqr
SIZE_MB=4096
# One request at a time: who waits, waits for the others' requests.
LATENCY_NS=1000000
KEEPS=80	# percent
WRITERS=8
# So many dirty pages are a moment's work for the device, so writers wait for it,
# and not for memory or for each other.
DIRTY_BYTES=8388608
WRITER_MB=64
SETTLE_S=2
WINDOW_S=5

GREEDY=16
GREEDY_DEPTH=4
# A hundred requests at least have to be seen for a 99th percentile, and each may
# take its 300 ms.
VICTIM_S=30

READER=
SYSCTL_OLD=()

# sysctl_set NAME VALUE, under /proc/sys/vm
sysctl_set()
{
	SYSCTL_OLD=("$1" "$(< "/proc/sys/vm/$1")" "${SYSCTL_OLD[@]}")
	echo "$2" > "/proc/sys/vm/$1"
}

# 0 bytes is written for what is a ratio: that is what was set before.
# shellcheck disable=SC2317	# called by lib_cleanup()
cleanup()
{
	local i

	[ -z "$READER" ] || kill -KILL "$READER" 2> /dev/null || true
	fio_kill
	for ((i = 0; i < ${#SYSCTL_OLD[@]}; i += 2)); do
		[ "${SYSCTL_OLD[i + 1]}" = 0 ] ||
			echo "${SYSCTL_OLD[i + 1]}" > "/proc/sys/vm/${SYSCTL_OLD[i]}"
	done
}

# rate SECONDS: REPLY is what the reader reads, in KiB a second.
rate()
{
	local from since

	sleep "$SETTLE_S"
	position "$READER"
	from=$REPLY since=$AT_US
	pause "$1"
	position "$READER"
	REPLY=$(((REPLY - from) * 1000 / (AT_US - since)))
}

written()
{
	local stat

	read -r -a stat < "/sys/block/$DEV/stat"
	REPLY=$((stat[6] / 2))
}

# It reads on, in a part of the device that nobody writes to.
start_reader()
{
	dd if="/dev/$DEV" of=/dev/null bs=4k iflag=direct \
		skip=$((WRITERS * WRITER_MB * 2 * 256)) status=none &
	READER=$!
	wait_ios "$DEV" 20
}

start_writers()
{
	sysctl_set dirty_background_bytes $((DIRTY_BYTES / 2))
	sysctl_set dirty_bytes "$DIRTY_BYTES"
	fio_start - writers "$DEV" --rw=write --bs=64k --direct=0 --ioengine=psync \
		--numjobs="$WRITERS" --size="${WRITER_MB}M" \
		--offset_increment="${WRITER_MB}M" --group_reporting
	written
	while from=$REPLY; written; [ "$REPLY" -eq "$from" ]; do
		sleep 0.2
	done
}

# writers REQUESTS: the device's own two, or as many as CFQ had
writers()
{
	local n bad=1 alone from

	start_reader
	rate "$WINDOW_S"
	alone=$REPLY
	start_writers
	for ((n = 0; n < TRIES && bad; n++)); do
		written
		from=$REPLY
		rate "$WINDOW_S"
		ktap_print_msg "alone $alone KiB/s, beside $WRITERS writers $REPLY," \
			"$(percent_of "$REPLY" "$alone") %"
		[ $((REPLY * 100)) -lt $((alone * KEEPS)) ] || bad=0
		written
		ktap_print_msg "written meanwhile: $((REPLY - from)) KiB"
	done
	report "$bad" "a reader keeps $KEEPS % beside $WRITERS buffered writers, $1 requests"

	# and without it, they do write
	kill -KILL "$READER"
	wait "$READER" 2> /dev/null || true
	READER=
	written
	from=$REPLY
	sleep "$SETTLE_S"
	written
	ktap_print_msg "written without it: $((REPLY - from)) KiB in $SETTLE_S s"
	[ "$REPLY" -gt "$from" ] && bad=0 || bad=1
	fio_end "$DEV" || bad=1
	report "$bad" "the writers get on, and nothing is left in flight, $1 requests"
}

# victim: VICTIM_US is its 99th percentile
victim()
{
	fio --name=victim --filename="/dev/$DEV" --direct=1 --ioengine=psync \
		--thread --rw=randread --bs=4k --size=1G --time_based \
		--runtime="$VICTIM_S" --ramp_time="$SETTLE_S" \
		--output-format=json --output="$TMP/victim.json" || return 1
	VICTIM_US=$(awk '
		/"read" :/ { on = 1 }
		/"write" :/ { on = 0 }
		on && /"total_ios"/ { gsub(/[^0-9]/, "", $3); ios = $3 }
		on && /"clat_ns"/ { clat = 1 }
		on && clat && /"mean"/ { mean = int($3 / 1000) }
		on && clat && /"99.000000"/ {
			gsub(/[^0-9]/, "", $3)
			p99 = int($3 / 1000)
			clat = 0
		}
		END { print p99, mean, ios }' "$TMP/victim.json")
}

# So many that nobody waits for one outside of the scheduler, which knows nothing
# of that
enough_requests()
{
	echo 128 > "/sys/block/$DEV/queue/nr_requests"
}

# latency ROTATIONAL
latency()
{
	local n bad=1 target us

	cfq_on "$DEV" "$1"
	enough_requests
	target=$(< "/sys/block/$DEV/queue/iosched/target_latency_us")
	fio_start - greedy "$DEV" --rw=randread --bs=4k --numjobs="$GREEDY" \
		--iodepth="$GREEDY_DEPTH" --group_reporting
	wait_ios "$DEV" 200
	for ((n = 0; n < TRIES && bad; n++)); do
		victim || continue
		read -r -a us <<< "$VICTIM_US"
		ktap_print_msg "rotational $1: ${us[2]} reads, mean ${us[1]} us," \
			"99 % within ${us[0]} us (target $target)"
		[ "${us[2]}" -lt 100 ] || [ "${us[0]}" -gt "$target" ] || bad=0
	done
	fio_end "$DEV" || bad=1
	report "$bad" "a reader waits no longer than target_latency, rotational $1"
	set_sched "$DEV" none
}

ktap_print_header
need_root
need_cmd fio dd xargs
need_nullb
need_sched cfq
need_done

ktap_set_plan 6
CLEANUP=cleanup
nullb_create "$DEV" size="$SIZE_MB" queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec="$LATENCY_NS" hw_queue_depth=1
echo 4 > "/sys/block/$DEV/queue/max_sectors_kb"
cfq_on "$DEV" 1
writers "$(< "/sys/block/$DEV/queue/nr_requests")"
enough_requests
writers 128
set_sched "$DEV" none
latency 1
latency 0
ktap_finished
