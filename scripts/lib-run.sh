# shellcheck shell=bash disable=SC2034 # much is for those who source this file
# Sourced by um-run and vm-run: their options, the job they hand to the guest
# (see guest/init), and what came of it.
#
# A run has three outcomes, which its exit status tells apart:
#
#	0  passed: the script exited with 0, and the kernel had nothing to say
#	1  failed: the script exited otherwise, or the kernel log holds a splat
#	2  never started: bad arguments, no kernel
#	3  lost: the guest ended or ran out of time before the script did
#
# The script's exit status comes through a channel of its own, so neither what
# the script prints nor what the kernel logs can be taken for it.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# refuse TEXT: nothing was started
refuse() { say "${0##*/}: $*"; exit 2; }

# All options of both; each of the two refuses what it cannot do.
TIMEOUT=600 VARIANT='' DISK='' APPEND='' LOG='' CPUS=2 SHARE='' STDIN='' TTY='' ICOUNT=''

parse_options()
{
	while [[ ${1-} == -* ]]; do
		case $1 in
		-h | --help) usage; exit ;;
		--stdin) STDIN=1; shift; continue ;;
		--tty) TTY=1; shift; continue ;;
		--icount) ICOUNT=1; shift; continue ;;
		esac
		[ $# -ge 2 ] || refuse "option '$1' is unknown or lacks its value (see --help)"
		case $1 in
		--kernel) VARIANT=$2 ;;
		--timeout) TIMEOUT=$2 ;;
		--disk) DISK=$2 ;;
		--append) APPEND=$2 ;;
		--log) LOG=$2 ;;
		--cpus) CPUS=$2 ;;
		--share) SHARE=$2 ;;
		*) refuse "unknown option '$1' (see --help)" ;;
		esac
		shift 2
	done
	[ $# -ge 2 ] || refuse "needs a tree (base or patched) and a script (see --help)"
	[[ $VARIANT =~ ^(x86|kasan)?$ ]] || refuse "--kernel takes x86 or kasan, not '$VARIANT'"
	[[ $TIMEOUT =~ ^[1-9][0-9]*$ ]] || refuse "--timeout takes seconds, not '$TIMEOUT'"
	[[ $CPUS =~ ^[1-9][0-9]*$ ]] || refuse "--cpus takes a number, not '$CPUS'"
	[[ -z $DISK || $DISK =~ ^[1-9][0-9]*[MG]$ ]] || refuse "--disk takes a size like 4G, not '$DISK'"
	[[ $1 == base || $1 == patched ]] || refuse "no such tree: '$1' (base or patched)"
	[ -f "$2" ] || refuse "no such script: '$2'"
	TREE=$1
	CMD=(bash "$(realpath "$2")" "${@:3}")
}

# prepare um|x86: the kernel, the log, and a directory for this run, in which
# the guest finds its job.  What is on the kernel's command line reaches the
# guest's init as its environment.
prepare()
{
	local script=${CMD[1]##*/}

	VARIANT=${VARIANT:-$1}
	KERNEL=$(kernel_image "$VARIANT" "$TREE")
	[ -e "$KERNEL" ] ||
		refuse "no $TREE kernel to boot, build it first: scripts/build $VARIANT $TREE"
	[ -n "$LOG" ] || LOG=$BUILD/log/${0##*/}-$TREE-${script%.sh}.log
	mkdir -p "$BUILD" "$(dirname "$LOG")"
	LOG=$(realpath "$LOG")
	RUN=$(mktemp -d "$BUILD/run.XXXXXX")
	trap end_run EXIT
	trap 'exit 130' INT TERM HUP
	[ -n "$SHARE" ] || SHARE=$RUN/share
	mkdir -p "$SHARE"
	SHARE=$(realpath "$SHARE")
	{
		printf '%s=%q\n' KIND "$1" CWD "$PWD" SHARE_FROM "$SHARE" TTY "$TTY" STDIN "$STDIN"
		printf 'export TREE=%q SERIES=%q\n' "$TREE" "$SERIES"
		printf 'set --'
		printf ' %q' "${CMD[@]}"
	} > "$RUN/job"
	: > "$LOG"
	: > "$RUN/status"
	mkfifo "$RUN/output"
	cat "$RUN/output" &
	COPIER=$!
	CMDLINE="job=$RUN/job panic=-1 oops=panic $APPEND"
}

end_run()
{
	[ -z "${GUEST-}" ] || kill "$GUEST" 2>/dev/null || :
	[ -z "${COPIER-}" ] || kill "$COPIER" 2>/dev/null || :
	rm -rf "$RUN"
}

# guest COMMAND...: run the guest, and give it up after TIMEOUT seconds.
# Without a terminal of its own it does not get ours either.
guest()
{
	local begin=$SECONDS

	RC=0
	if [ -n "$TTY" ]; then
		"$@" || RC=$?
	elif [ -n "$STDIN" ]; then
		timeout -k 5 "$TIMEOUT" "$@" <&0 &
		GUEST=$!
	else
		timeout -k 5 "$TIMEOUT" "$@" </dev/null &
		GUEST=$!
	fi
	[ -n "$TTY" ] || wait "$GUEST" || RC=$?
	GUEST=
	TOOK=$((SECONDS - begin))
}

why_lost()
{
	if [ "$RC" -eq 124 ] || ((TOOK >= TIMEOUT)); then
		echo "no end after $TIMEOUT s"
	elif grep -aq 'Kernel panic' "$LOG"; then
		echo "kernel panic"
	elif [ "$RC" -gt 128 ]; then
		echo "killed by signal $((RC - 128)) from outside"
	elif ! grep -q '^started' "$RUN/status"; then
		echo "the kernel did not get as far as the script"
	else
		echo "the guest ended before the script did"
	fi
}

# outcome: say it, and exit with it
outcome()
{
	local status splats rc=0

	# A guest that died early may never have opened its end of the FIFO.
	: <> "$RUN/output"
	wait "$COPIER" || :
	COPIER=
	status=$(sed -n 's/^exit //p' "$RUN/status")
	splats=$("$TOP/scripts/splats.py" "$LOG") || rc=$?
	[ "$rc" -le 1 ] || exit 1
	[ -z "$splats" ] || say "$splats"
	if [ -z "$status" ]; then
		[ -n "$splats" ] || tail -n 15 "$LOG" >&2
		say "${0##*/}: lost: $(why_lost) (kernel log: $LOG)"
		exit 3
	elif [ "$status" -ne 0 ]; then
		say "${0##*/}: failed: ${CMD[1]##*/} exited with $status (kernel log: $LOG)"
		exit 1
	elif [ -n "$splats" ]; then
		say "${0##*/}: failed: the kernel complained, see $LOG"
		exit 1
	fi
}
