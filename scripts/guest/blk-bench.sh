# shellcheck shell=bash
# Sourced by what uses the kernel's own benchmark (block/blk-bench.c) in a guest.

PARAMETERS=/sys/module/blk_bench/parameters
BENCH=/sys/kernel/debug/blk-bench

# blk_bench BATCH MS: one run on $DEV in the cgroup of this shell; sets IOPS, and
# RESULT to all that it said
blk_bench()
{
	local result

	[ -d "$PARAMETERS" ] || { echo "this kernel has no blk-bench (CONFIG_BLK_BENCH)"; exit 1; }
	echo "$DEV" > "$PARAMETERS/dev"
	echo "$1" > "$PARAMETERS/batch"
	echo "$2" > "$PARAMETERS/ms"
	echo 1 > "$PARAMETERS/runs"
	echo 1 > "$BENCH/run"
	read -r result < "$BENCH/result" || :
	# shellcheck disable=SC2034	# for who sourced this
	RESULT=$result
	IOPS=${result##* iops=}
	[[ $IOPS =~ ^[0-9]+$ ]] || { echo "no result from blk-bench: $result"; exit 1; }
}
