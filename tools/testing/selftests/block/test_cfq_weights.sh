#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq divides the device's time by the weights of the cgroups, within 5 %: of
# three groups side by side, and of groups in groups; for readers and for sync
# writers. This is cgroup v2, see test_cfq_weights_v1.sh.
#
# The device serves one request at a time with a fixed latency, so it is the
# bottleneck even where the CPU is slow, and time is requests. Each group keeps so
# many requests queued that a late wake-up does not leave it without, or just one
# after the other, and then it is cfq that has to wait.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfqw
TOLERANCE=5	# percent
SETTLE_S=1
WINDOW_S=8
LATENCY_NS=2000000
# Short, so that one slice more or less in a window does not show.
SLICE_MS=20
IODEPTH=32
NR_REQUESTS=256

NAMES=(a b c)

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
		args+=("$CGROOT/$group" "$KEY")
	done
	shift 2
	sleep "$SETTLE_S"
	for ((n = 0; n < TRIES && bad; n++)); do
		window "$WINDOW_S" "$DEV" "${args[@]}"
		! shares "$TOLERANCE" "$@" || bad=0
	done
	report "$bad" "$name"
}

# weigh {GROUP WEIGHT}...
weigh()
{
	while [ $# -gt 0 ]; do
		echo "$2" > "$CGROOT/$1/io.cfq.weight"
		shift 2
	done
}

# start_cfq ROTATIONAL
start_cfq()
{
	cfq_on "$DEV" "$1"
	echo "$NR_REQUESTS" > "/sys/block/$DEV/queue/nr_requests"
	cfq_tune "$DEV" slice_sync "$SLICE_MS"
}

# loads RW KEY IODEPTH
loads()
{
	local name

	KEY=$2
	for name in "${NAMES[@]}"; do
		fio_start "$CGROOT/$name" "$name" "$DEV" --rw="$1" --bs=4k \
			--iodepth="$3"
	done
	for name in "${NAMES[@]}"; do
		fio_wait_io "$CGROOT/$name" "$DEV" "$KEY"
	done
}

# both KIND: side by side, and two of them in a group that is beside the third
both()
{
	weigh a 100 b 200 c 400
	check "$1: weights 100, 200, 400 within $TOLERANCE %" "a b c" 100 200 400
	# a third and two thirds of a third, and two thirds
	weigh p 100 p/a 100 p/b 200 c 200
	move p/a p/b c
	check "$1: 100 and 200 in 100, beside 200" "p/a p/b c" 100 200 600
	move a b c
}

finish()
{
	local bad=0

	fio_end "$DEV" || bad=1
	report "$bad" "$1: no error, and nothing is left in flight"
}

ktap_print_header
need_root
need_cmd fio xargs
need_nullb
need_sched cfq
need_cgroup_io
need_cgroup_file io.cfq.weight CONFIG_CFQ_GROUP_IOSCHED
need_done

ktap_set_plan 9
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec="$LATENCY_NS" hw_queue_depth=1
start_cfq 0
for name in "${NAMES[@]}" p; do
	cg_make "$name"
done
echo +io > "$CGROOT/p/cgroup.subtree_control"
cg_make p/a
cg_make p/b
loads randread rios "$IODEPTH"
both "readers"
# The same readers with equal weights: it was the weights that told.
weigh a 100 b 100 c 100
check "readers: equal weights give equal shares" "a b c" 1 1 1
finish "readers"
loads randwrite wios "$IODEPTH"
both "sync writers"
finish "sync writers"

# It waits for the next request of a process, or if its slice is over, of the group.
set_sched "$DEV" none
start_cfq 1
loads read rios 1
weigh a 100 b 200 c 400
check "one request at a time: weights 100, 200, 400 within $TOLERANCE %" "a b c" \
	100 200 400
finish "one request at a time"
ktap_finished
