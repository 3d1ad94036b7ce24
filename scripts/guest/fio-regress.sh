#!/bin/bash
# fio-regress.sh SECONDS
#
# Runs in a guest with an empty disk /dev/vda: fio with io_uring and psync, random
# reads and writes, on null_blk, on XFS on the disk, and on md raid1 and raid10.
# What is written is read back and verified.  Leaves fio's own reports in
# $SHARE/DEVICE.SCHEDULER.ENGINE.OPERATION.json.

set -euo pipefail

SIZE_MB=16		# what a job writes and verifies, or reads in
MEMBER_MB=64		# size of a null_blk
SECONDS_EACH=$1
ENGINES=(io_uring psync)
NULLB=/sys/kernel/config/nullb
# There is no udev here that mdadm could wait for.
export MDADM_NO_UDEV=1

# new_nullb NAME: a null_blk that remembers what is written; prints the device
new_nullb()
{
	local dir=$NULLB/$1

	mkdir "$dir"
	echo 1 > "$dir/memory_backed"
	echo "$MEMBER_MB" > "$dir/size"
	echo 1 > "$dir/power"
	echo "/dev/$1"
}

scheduler() { sed -n 's/.*\[\(.*\)\].*/\1/p' "/sys/block/${1#/dev/}/queue/scheduler"; }

# job DEVICE-NAME SCHEDULER FILE
job()
{
	local engine operation how

	for engine in "${ENGINES[@]}"; do
		for operation in randread randwrite; do
			how=(--time_based --runtime="$SECONDS_EACH")
			[ $operation = randread ] || how=(--verify=crc32c --verify_fatal=1)
			echo "$1 $engine $operation"
			fio --name="$1" --filename="$3" --size="${SIZE_MB}M" --bs=4k \
				--ioengine="$engine" --iodepth=32 --direct=1 --rw=$operation \
				--output-format=json --output="$SHARE/$1.$2.$engine.$operation.json" \
				"${how[@]}"
		done
	done
}

# raid LEVEL MEMBERS: an array over as many null_blks, for as long as it is used
raid()
{
	local members=() i

	for ((i = 0; i < $2; i++)); do
		members+=("$(new_nullb "nullb_raid$1_$i")")
	done
	mdadm --create /dev/md0 --run --assume-clean --quiet --level="$1" \
		--raid-devices="$2" --bitmap=none "${members[@]}"
	job "raid$1" none /dev/md0
	mdadm --stop --quiet /dev/md0
}

xfs()
{
	mkfs.xfs -q -f /dev/vda
	mkdir /run/xfs
	mount -t xfs /dev/vda /run/xfs
	job xfs "$(scheduler vda)" /run/xfs/file
	umount /run/xfs
	xfs_repair -n /dev/vda > /dev/null 2>&1 || { echo "xfs_repair finds faults"; exit 1; }
}

disk=$(new_nullb nullb_disk)
echo none > "/sys/block/nullb_disk/queue/scheduler"
job null_blk none "$disk"
xfs
raid 1 2
raid 10 4
