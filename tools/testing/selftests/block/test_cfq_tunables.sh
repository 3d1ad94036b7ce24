#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cfq's tunables have the names, the defaults and the limits of its
# documentation. Each takes its bounds under load, and I/O goes on; what is out of
# range becomes the nearest bound; what is no number is refused, and the old value
# stays.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh
# shellcheck source=cfq_lib.sh
. ./cfq_lib.sh

DEV=blkt_cfqt
IOSCHED=/sys/block/$DEV/queue/iosched
MAX=4294967295

# name default minimum maximum
TABLE="
back_seek_max 16384 0 2147483647
back_seek_penalty 2 1 $MAX
fifo_expire_async 250 1 $MAX
fifo_expire_sync 125 1 $MAX
group_idle 8 0 $MAX
group_idle_us 8000 0 $MAX
low_latency 1 0 1
quantum 8 1 $MAX
slice_async 40 1 $MAX
slice_async_rq 2 1 $MAX
slice_async_us 40000 1 $MAX
slice_charge_min_ns 1 0 1000000000
slice_idle 0 0 $MAX
slice_idle_us 0 0 $MAX
slice_sync 100 1 $MAX
slice_sync_us 100000 1 $MAX
target_latency 300 1 $MAX
target_latency_us 300000 1 $MAX
"

# As many I/Os must follow a new value: those that were on their way do not tell.
IOS=40
# A megabyte of digits, each page of which is a number beyond 64 bits
DIGITS=1048576

# try_write FILE VALUE: RESULT is ok or the error
try_write()
{
	RESULT=ok
	# printf would write digit by digit where writing fails
	if ! if [ "$2" = "$LONG" ]; then
		dd if="$LONG" of="$1" bs="$DIGITS" status=none
	else
		printf '%s\n' "$2" > "$1"
	fi 2> "$TMP/error"; then
		read -r RESULT < "$TMP/error"
		RESULT=${RESULT##*: }
	fi
}

# expect TUNABLE VALUE SHOWN RESULT...: what is shown after it is written, and one
# of the results
expect()
{
	local file=$IOSCHED/$1 value=$2 wanted=$3 shown result

	shift 3
	try_write "$file" "$value"
	shown=$(< "$file")
	for result; do
		[ "$RESULT" != "$result" ] || [ "$shown" != "$wanted" ] || return 0
	done
	ktap_print_msg "${file##*/}: '${value::30}' gives $RESULT and $shown," \
		"not $* and $wanted"
	return 1
}

# The file in us and its fellow in ms are one value.
check_fellow()
{
	local us=${1%_us}_us ms=${1%_us} in_us in_ms

	[ -e "$IOSCHED/$us" ] || return 0
	in_us=$(< "$IOSCHED/$us")
	in_ms=$(< "$IOSCHED/$ms")
	[ "$in_ms" -ne $((in_us / 1000)) ] || return 0
	ktap_print_msg "$ms is $in_ms, $us is $in_us"
	return 1
}

# walk TUNABLE DEFAULT MINIMUM MAXIMUM
walk()
{
	local name=$1 default=$2 min=$3 max=$4 bad=0 value shown

	for value in 0 1 "$max" $((max + 1)); do
		shown=$((value < min ? min : value > max ? max : value))
		expect "$name" "$value" "$shown" ok || bad=1
		check_fellow "$name" || bad=1
		wait_ios "$DEV" "$IOS" "$CFQ_END_S" || bad=1
	done
	for value in -1 -$((max + 1)) "" " " x 1x 0x10 "1 2" 1.5; do
		expect "$name" "$value" "$max" "Invalid argument" || bad=1
	done
	# more than 64 bits: no number that anything could be near to
	for value in 18446744073709551616 "$LONG"; do
		expect "$name" "$value" "$max" "Numerical result out of range" \
			"Invalid argument" || bad=1
	done
	expect "$name" "$default" "$default" ok || bad=1
	wait_ios "$DEV" "$IOS" "$CFQ_END_S" || bad=1
	report "$bad" "$name takes $min to $max and nothing else"
}

check_names()
{
	local bad=0 names files=("$IOSCHED"/*)

	files=("${files[@]##*/}")
	names=$(awk 'NF { print $1 }' <<< "$TABLE" | xargs)
	if [ "${files[*]}" != "$names" ]; then
		ktap_print_msg "there are: ${files[*]}"
		ktap_print_msg "should be: $names"
		bad=1
	fi
	report "$bad" "the tunables that are documented"
}

# check_defaults ROTATIONAL: slice_idle is 8 where there are heads to move
check_defaults()
{
	local bad=0 name default shown

	cfq_on "$DEV" "$1"
	while read -r name default _; do
		[ -n "$name" ] || continue
		case $1.$name in
		1.slice_idle) default=8 ;;
		1.slice_idle_us) default=8000 ;;
		esac
		shown=$(< "$IOSCHED/$name")
		[ "$shown" = "$default" ] && continue
		ktap_print_msg "$name is $shown, not $default"
		bad=1
	done <<< "$TABLE"
	report "$bad" "defaults where rotational is $1"
	set_sched "$DEV" none
}

ktap_print_header
need_root
need_cmd fio head tr xargs
need_nullb
need_sched cfq
need_done

ktap_set_plan $(($(grep -c . <<< "$TABLE") + 4))
nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
	completion_nsec=200000 hw_queue_depth=16
LONG=$TMP/digits
head -c "$DIGITS" /dev/zero | tr '\0' 9 > "$LONG"
check_defaults 1
check_defaults 0
cfq_on "$DEV"
check_names
# All kinds of queues: sync ones that read on and that seek, and async ones
fio_start - sync "$DEV" --rw=read --bs=4k --iodepth=4
fio_start - seeky "$DEV" --rw=randrw --bs=4k --iodepth=4 --numjobs=2 --group_reporting
fio_start - async "$DEV" --rw=randwrite --bs=4k --direct=0 --ioengine=psync \
	--fdatasync=64
wait_ios "$DEV" 1
while read -r -a row; do
	[ "${#row[@]}" -eq 0 ] || walk "${row[@]}"
done <<< "$TABLE"
bad=0
fio_end "$DEV" || bad=1
report "$bad" "fio ends without an error, and nothing is left in flight"
ktap_finished
