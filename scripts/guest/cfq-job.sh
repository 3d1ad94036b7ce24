#!/bin/bash
# cfq-job.sh ROUNDS SECONDS DELAY-NS REQUESTS
#
# Runs in a guest: cfq.job by fio under each scheduler, ROUNDS times in turn, in
# cgroup v1, on XFS on a device in memory that serves one request at a time.
# SECONDS is the runtime in place of the job's own, 0: the job as it is. DELAY-NS is
# what a request takes the device, REQUESTS how many a scheduler may have, 0: as it is.
#
# Leaves what fio said in $SHARE/RUN.ROUND.fio, and a line in $SHARE/runs:
#	RUN ROUND FIO-STATUS MS IOS-A IOS-B CHARGED-A CHARGED-B
# MS is how long fio took, its start and end included; IOS is what each group has
# done by its io_serviced, CHARGED its blkio.time in ns, or - where the scheduler is
# not cfq.

set -euo pipefail

JOB=$(dirname "$0")/cfq.job
NAME=nullb_job		# null_blk calls a device what its directory is called
NULLB=/sys/kernel/config/nullb/$NAME
DEV=/dev/$NAME
QUEUE=/sys/block/$NAME/queue
CGROUP=/sys/fs/cgroup
MOUNT=/tmp/sda		# where the job has its files
SIZE_MB=6144		# both files; what is never written takes no memory

# What a slice is charged at least, in ns, by the name of a run, and who counts
RUNS=(none bfq cfq cfq-jiffy)
declare -A CHARGE_MIN=([cfq]=1 [cfq-jiffy]=1000000)
declare -A COUNTER=([none]=throttle.io_serviced [bfq]=bfq.io_serviced
	[cfq]=io_serviced [cfq-jiffy]=io_serviced)
HUGE_IOPS=100000000

fail() { echo "cfq-job: $*"; exit 1; }

# fio looks for a mounted blkio, and the controller is in one hierarchy only.
mount_all()
{
	mount -t tmpfs tmpfs /tmp
	umount "$CGROUP"
	mount -t cgroup -o blkio blkio "$CGROUP" || fail "no blkio in cgroup v1"
	[ -e "$CGROUP/blkio.weight" ] || fail "this kernel has no cfq with groups"
	mkdir "$MOUNT"
}

# new_device RUN: memory that starts empty, and with nothing remembered of before
new_device()
{
	mkdir "$NULLB"
	echo 1 > "$NULLB/memory_backed"
	echo "$SIZE_MB" > "$NULLB/size"
	echo 2 > "$NULLB/queue_mode"
	echo 1 > "$NULLB/submit_queues"
	echo 1 > "$NULLB/hw_queue_depth"
	echo 2 > "$NULLB/irqmode"
	echo "$delay_ns" > "$NULLB/completion_nsec"
	echo 1 > "$NULLB/power"
	mkfs.xfs -q "$DEV"
	mount -t xfs "$DEV" "$MOUNT"
	echo "${1%-jiffy}" > "$QUEUE/scheduler" || fail "this kernel has no ${1%-jiffy}"
	[ "$requests" = 0 ] || [ "$1" = none ] ||
		echo "$requests" > "$QUEUE/nr_requests"
	[ -z "${CHARGE_MIN[$1]-}" ] ||
		echo "${CHARGE_MIN[$1]}" > "$QUEUE/iosched/slice_charge_min_ns"
}

# Where no scheduler counts, blk-throttle does, for who has a limit.
new_groups()
{
	local group devno

	read -r devno < "/sys/block/$NAME/dev"
	for group in cfq_a cfq_b; do
		mkdir "$CGROUP/$group"
		[ "$1" != none ] || echo "$devno $HUGE_IOPS" \
			> "$CGROUP/$group/blkio.throttle.write_iops_device"
	done
}

remove_device()
{
	umount "$MOUNT"
	echo 0 > "$NULLB/power"
	rmdir "$NULLB"
	rmdir "$CGROUP/cfq_a" "$CGROUP/cfq_b"
}

# total GROUP FILE: REPLY is what the file says, of all devices
total()
{
	local word words

	REPLY=0
	while read -r -a words; do
		word=${words[0]}
		[ "$word" != Total ] || REPLY=${words[1]}
		[ "$2" != blkio.time ] || REPLY=${words[1]}
	done < "$CGROUP/$1/$2"
}

# run RUN ROUND
run()
{
	local begin ms status=0 figures=()

	new_device "$1"
	new_groups "$1"
	begin=${EPOCHREALTIME/./}
	# fio 3.33 trips over its own cgroups when all is done, and gives no report.
	{ fio "$JOB" > "$SHARE/$1.$2.fio" || status=$?; } 2>> "$SHARE/$1.$2.fio"
	ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
	for group in cfq_a cfq_b; do
		total "$group" "blkio.${COUNTER[$1]}"
		figures+=("$REPLY")
	done
	for group in cfq_a cfq_b; do
		REPLY=-
		[ -z "${CHARGE_MIN[$1]-}" ] || total "$group" blkio.time
		figures+=("$REPLY")
	done
	echo "$1 $2 $status $ms ${figures[*]}" >> "$SHARE/runs"
	echo "cfq-job: round $2, $1: done after $ms ms"
	remove_device
}

rounds=$1 seconds=$2 delay_ns=$3 requests=$4
mount_all
if [ "$seconds" != 0 ]; then
	sed "s/^runtime=.*/runtime=$seconds/" "$JOB" > /run/cfq.job
	JOB=/run/cfq.job
fi
for ((round = 0; round < rounds; round++)); do
	for name in "${RUNS[@]}"; do
		run "$name" "$round"
	done
done
