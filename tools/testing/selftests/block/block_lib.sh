# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the shell tests of the block layer share: needs, null_blk devices,
# cgroups, background fio, and windows of time over which io.stat is read.
# To be sourced; everything that is set up here is undone by lib_cleanup().
#
# Rates are taken from io.stat between two points in time, not from fio: a slow
# start or a slow end of fio then does not count.

export LC_ALL=C

CONFIGFS=/sys/kernel/config
NULLB=$CONFIGFS/nullb
DEBUG_STATS=/sys/module/blk_cgroup/parameters/blkcg_debug_stats

# How long a program may take to issue its first I/O on a slow machine.
FIO_START_S=30
# A reading of io.stat that took longer than this is not of one point in time.
READ_MAX_US=20000
# fio ends by itself after this time should it ever be left behind.
FIO_MAX_S=300

# A machine that stalls in a window blurs what is measured in it: so often may it
# be repeated. That does not make a kernel right that is wrong each time.
# shellcheck disable=SC2034	# for the tests
TRIES=3

NEEDS=()
DEVS=()
GROUPS_MADE=()
FIO_PIDS=()
MOUNTED=()
CGBASE=
CGROOT=
IO_ENABLED=
DEBUG_STATS_OLD=
DELTA=()
SPAN_US=()
STALL_US=0
TMP=$(mktemp -d)
# A pipe that nothing ever comes from.
mkfifo "$TMP/never"
exec {NEVER}<> "$TMP/never"
# A test's own command to run at the end.
CLEANUP=

# --- Needs: each adds its reason, need_done() skips with all of them.

need_root()
{
	[ "$EUID" -eq 0 ] || NEEDS+=("must be run as root")
}

need_cmd()
{
	local cmd

	for cmd; do
		command -v "$cmd" > /dev/null || NEEDS+=("$cmd is not installed")
	done
}

need_nullb()
{
	modprobe -q configfs 2> /dev/null || true
	modprobe -q null_blk nr_devices=0 2> /dev/null || true
	if [ -d "$CONFIGFS" ] && ! grep -q " $CONFIGFS configfs " /proc/mounts; then
		if mount -t configfs none "$CONFIGFS" 2> /dev/null; then
			MOUNTED+=("$CONFIGFS")
		fi
	fi
	[ -d "$NULLB" ] ||
		NEEDS+=("no $NULLB (CONFIG_BLK_DEV_NULL_BLK, CONFIG_CONFIGFS_FS)")
}

need_sched()
{
	local sched

	[ -d "$NULLB" ] || return 0
	nullb_create blkt_probe
	for sched; do
		modprobe -q "$sched" 2> /dev/null || true
		modprobe -q "$sched-iosched" 2> /dev/null || true
		grep -qw -- "$sched" /sys/block/blkt_probe/queue/scheduler ||
			NEEDS+=("no I/O scheduler $sched")
	done
	nullb_remove blkt_probe
}

# Finds the cgroup v2 hierarchy, or mounts one, and makes a group for the test.
need_cgroup_io()
{
	local base

	base=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -z "$base" ]; then
		mkdir "$TMP/cgroup"
		if ! mount -t cgroup2 none "$TMP/cgroup" 2> /dev/null; then
			NEEDS+=("no cgroup v2 hierarchy (CONFIG_CGROUPS)")
			return 0
		fi
		MOUNTED+=("$TMP/cgroup")
		base=$TMP/cgroup
	fi
	if ! grep -qw io "$base/cgroup.controllers"; then
		NEEDS+=("no io controller in $base (CONFIG_BLK_CGROUP, no cgroup v1 blkio)")
		return 0
	fi
	if ! grep -qw io "$base/cgroup.subtree_control"; then
		echo +io > "$base/cgroup.subtree_control"
		IO_ENABLED=$base
	fi
	# shellcheck disable=SC2034	# for the tests
	CGBASE=$base
	CGROOT=$base/blk-test-$$
	mkdir "$CGROOT"
	GROUPS_MADE+=("$CGROOT")
	echo +io > "$CGROOT/cgroup.subtree_control"
}

# need_cgroup_file NAME OPTION: NAME is there in a group other than the root.
need_cgroup_file()
{
	[ -n "$CGROOT" ] || return 0
	[ -e "$CGROOT/$1" ] || NEEDS+=("no $1 in a cgroup ($2)")
}

need_done()
{
	local why

	[ "${#NEEDS[@]}" -gt 0 ] || return 0
	for why in "${NEEDS[@]}"; do
		ktap_print_msg "$why"
	done
	ktap_skip_all "$(IFS=';'; echo "${NEEDS[*]}")"
	exit "$KSFT_SKIP"
}

# --- null_blk

# nullb_create NAME [ATTRIBUTE=VALUE]...
nullb_create()
{
	local name=$1 arg

	shift
	mkdir "$NULLB/$name"
	DEVS+=("$name")
	for arg; do
		echo "${arg#*=}" > "$NULLB/$name/${arg%%=*}"
	done
	echo 1 > "$NULLB/$name/power"
	# Without udev's help: the node comes from devtmpfs.
	for _ in {1..50}; do
		[ -b "/dev/$name" ] && return 0
		sleep 0.1
	done
	ktap_print_msg "/dev/$name did not appear"
	return 1
}

nullb_remove()
{
	[ ! -d "$NULLB/$1" ] || rmdir "$NULLB/$1"
}

# set_sched NAME SCHEDULER
set_sched()
{
	echo "$2" > "/sys/block/$1/queue/scheduler"
}

# --- cgroups

# cg_make NAME: makes a group below the test's, its path is in $CGROOT/NAME.
cg_make()
{
	mkdir "$CGROOT/$1"
	GROUPS_MADE+=("$CGROOT/$1")
}

debug_stats_on()
{
	DEBUG_STATS_OLD=$(< "$DEBUG_STATS")
	echo 1 > "$DEBUG_STATS"
}

# io_stat GROUP DEVICE KEY: REPLY is the value of KEY, 0 if there is none.
io_stat()
{
	local devno words word

	REPLY=0
	read -r devno < "/sys/block/$2/dev"
	while read -r -a words; do
		[ "${words[0]-}" = "$devno" ] || continue
		for word in "${words[@]:1}"; do
			[ "${word%%=*}" != "$3" ] || REPLY=${word#*=}
		done
	done < "$1/io.stat"
}

# --- fio

# fio_start GROUP NAME DEVICE [OPTION]...: in the background, in that cgroup
# (- is the caller's).
fio_start()
{
	local group=$1 name=$2 dev=$3

	shift 3
	(
		if [ "$group" != - ]; then
			echo "$BASHPID" > "$group/cgroup.procs"
		fi
		exec fio --name="$name" --filename="/dev/$dev" --direct=1 \
			--ioengine=libaio --thread --norandommap --size=1G \
			--time_based --runtime="$FIO_MAX_S" "$@" \
			> "$TMP/$name.out" 2>&1
	) &
	FIO_PIDS+=($!)
}

# fio_wait_io GROUP DEVICE KEY: until the group's KEY in io.stat moves.
fio_wait_io()
{
	local n

	for ((n = 0; n < FIO_START_S * 5; n++)); do
		io_stat "$@"
		[ "$REPLY" -eq 0 ] || return 0
		sleep 0.2
	done
	ktap_print_msg "no I/O from $1 within $FIO_START_S s"
	fio_show_output
	return 1
}

# True while all that were started still run.
fio_running()
{
	local pid

	for pid in "${FIO_PIDS[@]}"; do
		if ! kill -0 "$pid" 2> /dev/null; then
			ktap_print_msg "a fio ended early"
			fio_show_output
			return 1
		fi
	done
}

fio_show_output()
{
	local out line

	for out in "$TMP"/*.out; do
		[ -e "$out" ] || continue
		{ grep -E '^fio:|err=' "$out" || true; } | tail -n 5 |
			while read -r line; do
				ktap_print_msg "${out##*/}: $line"
			done
	done
}

fio_kill()
{
	local pid

	for pid in "${FIO_PIDS[@]}"; do
		kill -KILL "$pid" 2> /dev/null || true
	done
	for pid in "${FIO_PIDS[@]}"; do
		wait "$pid" 2> /dev/null || true
	done
	FIO_PIDS=()
}

# --- Measuring

# pause SECONDS: STALL_US is by how much the machine was late in it, at worst.
pause()
{
	local now late end=$((${EPOCHREALTIME/./} + $1 * 1000000))

	STALL_US=0
	while now=${EPOCHREALTIME/./}; [ "$now" -lt "$end" ]; do
		read -rt 0.05 -u "$NEVER" || true
		late=$((${EPOCHREALTIME/./} - now - 50000))
		[ "$late" -le "$STALL_US" ] || STALL_US=$late
	done
}

# io_stat_at GROUP DEVICE KEY: REPLY as by io_stat, and AT_US, when that was. It
# is read again if something came between the two.
io_stat_at()
{
	local n

	for ((n = 0; n < 20; n++)); do
		AT_US=${EPOCHREALTIME/./}
		io_stat "$@"
		[ $((${EPOCHREALTIME/./} - AT_US)) -gt "$READ_MAX_US" ] || break
	done
}

# window SECONDS DEVICE {GROUP KEY}...: DELTA[i] is by how much each KEY grew,
# SPAN_US[i] in which time. Each has a time of its own, as reading them one after
# the other may take long on a slow machine. STALL_US as by pause().
window()
{
	local seconds=$1 dev=$2 i pairs

	shift 2
	pairs=("$@")
	DELTA=()
	SPAN_US=()
	for ((i = 0; i < ${#pairs[@]}; i += 2)); do
		io_stat_at "${pairs[i]}" "$dev" "${pairs[i + 1]}"
		DELTA+=("-$REPLY")
		SPAN_US+=("-$AT_US")
	done
	pause "$seconds"
	for ((i = 0; i < ${#pairs[@]}; i += 2)); do
		io_stat_at "${pairs[i]}" "$dev" "${pairs[i + 1]}"
		DELTA[i / 2]=$((DELTA[i / 2] + REPLY))
		SPAN_US[i / 2]=$((SPAN_US[i / 2] + AT_US))
	done
}

# within VALUE IDEAL PERCENT: VALUE differs from IDEAL by no more than PERCENT.
within()
{
	local diff=$(($1 - $2))

	[ $((${diff#-} * 100)) -le $(($2 * $3)) ]
}

# percent_of VALUE BASE: with one digit after the point.
percent_of()
{
	local permille=$(($2 ? $1 * 1000 / $2 : 0))

	echo "$((permille / 10)).$((permille % 10))"
}

# report OK NAME: one line of result.
report()
{
	if [ "$1" -eq 0 ]; then
		ktap_test_pass "$2"
	else
		ktap_test_fail "$2"
	fi
}

# --- The end

cg_remove_all()
{
	local i n group

	for ((i = ${#GROUPS_MADE[@]} - 1; i >= 0; i--)); do
		group=${GROUPS_MADE[i]}
		# A group of tasks that were just killed is busy for a moment.
		for ((n = 0; n < 50; n++)); do
			rmdir "$group" 2> /dev/null && break
			sleep 0.1
		done
		[ ! -d "$group" ] || ktap_print_msg "cannot remove $group"
	done
	[ -z "$IO_ENABLED" ] || echo -io > "$IO_ENABLED/cgroup.subtree_control"
}

lib_cleanup()
{
	local status=$? name

	trap - EXIT
	set +e
	[ -z "$CLEANUP" ] || "$CLEANUP"
	fio_kill
	[ -z "$DEBUG_STATS_OLD" ] || echo "$DEBUG_STATS_OLD" > "$DEBUG_STATS"
	cg_remove_all
	for name in "${DEVS[@]}"; do
		nullb_remove "$name"
	done
	for name in "${MOUNTED[@]}"; do
		umount "$name"
	done
	rm -rf "$TMP"
	exit "$status"
}

trap lib_cleanup EXIT
trap 'exit 1' INT TERM HUP
