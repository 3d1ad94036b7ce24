#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# io.cost divides by weight what its model says the device can do, and its
# figures in io.stat are possible ones: no time that ran backwards, none that is
# longer than the test.
#
# The model is far slower than the device and its speed is fixed (vrate 100 %),
# so the model is the bottleneck.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_cost
TOLERANCE=15	# percent
MODEL_IOPS=50
# Each waits for its turn, so that many want one at any time.
READERS=8
SETTLE_S=3
WINDOW_S=8

# Statistics are brought up to date once a period, which ends late on a busy
# machine: a time may exceed its window by that.
SLACK_US=1000000
# A time in us that is longer in digits than this is beyond 2^59.
MAX_DIGITS=18

DEVNO=
NAMES=(a b)
COSTS=(cost.usage cost.wait cost.indebt cost.indelay)

setup()
{
	local name

	nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
		completion_nsec=100000 hw_queue_depth=64
	set_sched "$DEV" none
	read -r DEVNO < "/sys/block/$DEV/dev"
	debug_stats_on
	echo "$DEVNO ctrl=user model=linear" \
		"rbps=1000000000000 rseqiops=$MODEL_IOPS rrandiops=$MODEL_IOPS" \
		"wbps=1000000000000 wseqiops=$MODEL_IOPS wrandiops=$MODEL_IOPS" \
		> "$CGBASE/io.cost.model"
	echo "$DEVNO enable=1 ctrl=user rpct=0 wpct=0 min=100.00 max=100.00" \
		> "$CGBASE/io.cost.qos"
	for name in "${NAMES[@]}"; do
		cg_make "$name"
		fio_start "$CGROOT/$name" "$name" "$DEV" --rw=randread --bs=4k \
			--ioengine=psync --numjobs="$READERS"
	done
	for name in "${NAMES[@]}"; do
		fio_wait_io "$CGROOT/$name" "$DEV" rios
	done
}

# measure SECONDS WEIGHT WEIGHT: in DELTA, for each group, its I/Os and COSTS.
measure()
{
	local seconds=$1 weights=("$2" "$3") i cost args=()

	for i in 0 1; do
		echo "default ${weights[i]}" > "$CGROOT/${NAMES[i]}/io.weight"
		args+=("$CGROOT/${NAMES[i]}" rios)
		for cost in "${COSTS[@]}"; do
			args+=("$CGROOT/${NAMES[i]}" "$cost")
		done
	done
	sleep "$SETTLE_S"
	window "$seconds" "$DEV" "${args[@]}"
}

# check_shares SECONDS WEIGHT WEIGHT: whether the shares are as the weights.
check_shares()
{
	local weights=("$2" "$3") i bad=0 ideal ios total
	local stride=$((1 + ${#COSTS[@]}))

	measure "$@"
	total=$((DELTA[0] + DELTA[stride]))
	for i in 0 1; do
		ios=${DELTA[i * stride]}
		ideal=$((total * weights[i] / (weights[0] + weights[1])))
		ktap_print_msg "weight ${weights[i]}: $ios I/Os," \
			"$(percent_of "$ios" "$total") % of all," \
			"should be $(percent_of "$ideal" "$total") %"
		within "$ios" "$ideal" "$TOLERANCE" || bad=1
	done
	[ "$total" -gt 0 ] || bad=1
	return "$bad"
}

check_model()
{
	local stride=$((1 + ${#COSTS[@]})) bad=0
	local total=$((DELTA[0] + DELTA[stride]))
	local model=$((MODEL_IOPS * SPAN_US[0] / 1000000))

	ktap_print_msg "$total I/Os, $(percent_of "$total" "$model") % of the model"
	[ $((total * 10)) -le $((model * 11)) ] || bad=1
	report "$bad" "the groups together do no more than the model says"
}

check_costs()
{
	local stride=$((1 + ${#COSTS[@]})) i j bad=0 delta span

	for i in 0 1; do
		for ((j = 0; j < ${#COSTS[@]}; j++)); do
			delta=${DELTA[i * stride + 1 + j]}
			span=${SPAN_US[i * stride + 1 + j]}
			ktap_print_msg "${NAMES[i]}: ${COSTS[j]} grew by" \
				"$((delta / 1000)) ms in $((span / 1000)) ms"
			[ "$delta" -ge 0 ] || bad=1
			[ "$delta" -le $((span + SLACK_US)) ] || bad=1
		done
		# Both always want more than they get.
		[ "${DELTA[i * stride + 1]}" -gt 0 ] || bad=1
		[ "${DELTA[i * stride + 2]}" -gt 0 ] || bad=1
	done
	report "$bad" "cost.usage and cost.wait grow, nothing faster than the clock"
}

check_digits()
{
	local name cost value bad=0

	for name in "${NAMES[@]}"; do
		for cost in "${COSTS[@]}"; do
			io_stat "$CGROOT/$name" "$DEV" "$cost"
			value=$REPLY
			[ "${#value}" -le "$MAX_DIGITS" ] && continue
			ktap_print_msg "$name: $cost is $value"
			bad=1
		done
	done
	report "$bad" "no cost.* of 2^60 or more"
}

ktap_print_header
need_root
need_cmd fio
need_nullb
need_cgroup_io
need_cgroup_file io.weight CONFIG_BLK_CGROUP_IOCOST
if [ -n "$CGROOT" ] && [ ! -e "$CGBASE/io.cost.model" ]; then
	NEEDS+=("no io.cost.model in $CGBASE (CONFIG_BLK_CGROUP_IOCOST)")
fi
need_done

ktap_set_plan 6
setup
bad=1
for ((n = 0; n < TRIES && bad; n++)); do
	! check_shares "$WINDOW_S" 100 300 || bad=0
done
report "$bad" "weights 100:300 give 100:300 within $TOLERANCE %"
check_model
check_costs
check_digits
# The same readers with equal weights: it was the weights that told.
bad=1
for ((n = 0; n < TRIES && bad; n++)); do
	! check_shares "$WINDOW_S" 100 100 || bad=0
done
report "$bad" "equal weights give equal shares"
bad=0
fio_running || bad=1
report "$bad" "all loads ran through"
ktap_finished
