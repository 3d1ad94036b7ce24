#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every tunable in queue/iosched/ of bfq, mq-deadline and kyber takes, refuses
# and shows what it did when the table was recorded, on a kernel before changes.
#
# Usage: test_iosched_tunables.sh [--record] [TABLE]
#
# With --record the table is written instead of compared with. The default table
# is hzN.tunables, N being the kernel's CONFIG_HZ: times that are kept in
# ticks are shown rounded to ticks.
#
# A line of the table:
#	scheduler tunable default value-written ok|ERRNO shown-afterwards others
# where others are the other tunables that changed with it (name=value,...; - is
# none). (empty) is an empty line, a written value has its blanks as \040.

set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=ktap.sh
. ./ktap.sh
# shellcheck source=block_lib.sh
. ./block_lib.sh

DEV=blkt_tune
SCHEDS=(mq-deadline kyber bfq)
IOSCHED=/sys/block/$DEV/queue/iosched

# The limits of the types that tunables are kept in and converted to: int,
# unsigned int, long, unsigned long, each with its successor. The default is
# written as well.
VALUES=(0 1 2 100 2147483647 2147483648 4294967295 4294967296
	9223372036854775807 9223372036854775808
	18446744073709551615 18446744073709551616
	-1 -2147483648 -2147483649 '(empty)' x 0x10 1x '1\0402' '\0401')

# Written before each value of the tunable, so that what it does to another one
# shows.
declare -A BEFORE=([bfq.strict_guarantees]="slice_idle 0")

RECORD=
TABLE=

# The kernel's HZ from its configuration, nothing if that is not to be found.
kernel_hz()
{
	local config

	config=/boot/config-$(uname -r)
	if [ -r /proc/config.gz ]; then
		zcat /proc/config.gz > "$TMP/config"
		config=$TMP/config
	fi
	[ ! -r "$config" ] || sed -n 's/^CONFIG_HZ=//p' "$config"
}

# try_write FILE VALUE: RESULT is ok or the name of the error.
try_write()
{
	local text=${2/(empty)/} error

	if { printf '%b\n' "$text" > "$1"; } 2> "$TMP/error"; then
		RESULT=ok
		return
	fi
	read -r error < "$TMP/error"
	case ${error##*: } in
	"Invalid argument") RESULT=EINVAL ;;
	"Numerical result out of range") RESULT=ERANGE ;;
	*) RESULT=${error##*: }; RESULT=${RESULT// /_} ;;
	esac
}

# other_changes TUNABLE: OTHERS are those but TUNABLE that differ from DEFAULTS.
other_changes()
{
	local tunable now

	OTHERS=
	for tunable in "${TUNABLES[@]}"; do
		[ "$tunable" != "$1" ] || continue
		read -r now < "$IOSCHED/$tunable"
		[ "$now" != "${DEFAULTS[$tunable]}" ] || continue
		OTHERS+=${OTHERS:+,}$tunable=$now
	done
	OTHERS=${OTHERS:--}
}

# walk_tunable SCHEDULER TUNABLE: its lines of the table, to stdout.
walk_tunable()
{
	local sched=$1 tunable=$2 value shown before
	local default=${DEFAULTS[$2]}

	read -r -a before <<< "${BEFORE[$sched.$tunable]-}"
	for value in "${VALUES[@]}" "$default"; do
		try_write "$IOSCHED/$tunable" "$default"
		[ "${#before[@]}" -eq 0 ] ||
			try_write "$IOSCHED/${before[0]}" "${before[1]}"
		try_write "$IOSCHED/$tunable" "$value"
		read -r shown < "$IOSCHED/$tunable"
		other_changes "$tunable"
		echo "$sched $tunable $default $value $RESULT $shown $OTHERS"
	done
	# What changed along with it goes back as well.
	for tunable in "${TUNABLES[@]}"; do
		try_write "$IOSCHED/$tunable" "${DEFAULTS[$tunable]}"
	done
}

# walk_sched SCHEDULER: all lines of a scheduler, in $TMP/SCHEDULER.TUNABLE.
walk_sched()
{
	local tunable

	set_sched "$DEV" "$1"
	TUNABLES=("$IOSCHED"/*)
	TUNABLES=("${TUNABLES[@]##*/}")
	declare -gA DEFAULTS=()
	for tunable in "${TUNABLES[@]}"; do
		read -r "DEFAULTS[$tunable]" < "$IOSCHED/$tunable"
	done
	for tunable in "${TUNABLES[@]}"; do
		walk_tunable "$1" "$tunable" > "$TMP/$1.$tunable"
	done
}

# compare_tunable SCHEDULER TUNABLE
compare_tunable()
{
	local bad=0 line

	grep "^$1 $2 " "$TABLE" > "$TMP/expected" || true
	diff "$TMP/expected" "$TMP/$1.$2" > "$TMP/diff" || bad=1
	while read -r line; do
		case $line in
		"<"*) ktap_print_msg "recorded: ${line#??}" ;;
		">"*) ktap_print_msg "now:      ${line#??}" ;;
		esac
	done < "$TMP/diff"
	report "$bad" "$1 $2 takes, refuses and shows what it did"
}

# compare_names SCHEDULER
compare_names()
{
	local bad=0 recorded

	recorded=$(awk -v s="$1" '$1 == s { print $2 }' "$TABLE" | uniq)
	if [ "${recorded//$'\n'/ }" != "${TUNABLES[*]}" ]; then
		ktap_print_msg "recorded:" "${recorded//$'\n'/ }"
		ktap_print_msg "now:     " "${TUNABLES[*]}"
		bad=1
	fi
	report "$bad" "$1 has the tunables it had"
}

record()
{
	local sched

	{
		printf '# %s-Identifier: GPL-2.0\n' SPDX-License
		echo "# Recorded on Linux $(uname -r), CONFIG_HZ=${HZ:-unknown}," \
			"by ${0##*/} --record"
		echo "# scheduler tunable default written result shown others-changed"
		for sched in "${SCHEDS[@]}"; do
			walk_sched "$sched"
			cat "$TMP/$sched".*
		done
	} > "$TMP/table"
	cat "$TMP/table" > "$TABLE"
	ktap_print_msg "$(grep -vc '^#' "$TABLE") lines recorded in $TABLE"
}

compare()
{
	local sched tunable names

	names=$(awk '!/^#/ { print $1 "." $2 }' "$TABLE" | uniq)
	ktap_set_plan $(($(wc -w <<< "$names") + ${#SCHEDS[@]}))
	for sched in "${SCHEDS[@]}"; do
		walk_sched "$sched"
		compare_names "$sched"
		for tunable in $names; do
			[ "${tunable%%.*}" = "$sched" ] || continue
			touch "$TMP/$tunable"
			compare_tunable "$sched" "${tunable#*.}"
		done
	done
}

case ${1-} in
--record)
	RECORD=1
	shift
	;;
-*)
	echo "usage: $0 [--record] [TABLE]" >&2
	exit 2
	;;
esac

ktap_print_header
HZ=$(kernel_hz)
TABLE=${1-./hz$HZ.tunables}
need_root
need_nullb
need_sched "${SCHEDS[@]}"
if [ -z "$HZ" ] && [ -z "${1-}" ]; then
	NEEDS+=("cannot tell the kernel's HZ (CONFIG_IKCONFIG_PROC): name a table")
elif [ -z "$RECORD" ] && [ ! -r "$TABLE" ]; then
	NEEDS+=("no table $TABLE: record one on the unchanged kernel with --record")
fi
need_done

nullb_create "$DEV" size=1024 queue_mode=2 irqmode=2 submit_queues=1 \
	hw_queue_depth=64
if [ -n "$RECORD" ]; then
	record
	exit 0
fi
compare
ktap_finished
