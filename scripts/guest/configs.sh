# shellcheck shell=bash
# Sourced by what measures in a guest: block-layer configurations by name.
#
#	configure NAME IOSTATS	the null_blk device $DEV anew, set up that way;
#				this shell is in the cgroup it takes
#	unconfigure		and all is gone again
#
# A fresh device and a fresh cgroup each time, for a controller that was on
# once leaves traces in the queue after it was turned off.  Limits and models
# are set so high that nothing is ever throttled: what is measured is the cost
# of asking, not of waiting.  Builtins and busybox only, for starting a program
# that is linked dynamically takes the user-mode kernel a tenth of a second.

DEV=nullb_bench		# null_blk calls a device what its directory is called
NULLB=/sys/kernel/config/nullb/$DEV
CGROUP=/sys/fs/cgroup
GROUP=$CGROUP/bench
TIMER_NS=${TIMER_NS:-0}	# complete by a timer of that many ns, inline if 0
HUGE_IOPS=100000000
HUGE_BPS=1000000000000

# Requests complete inline, in the submitter's context, unless told otherwise: the
# time that a completion takes counts as well, and nothing else runs.
new_device()
{
	busybox mkdir "$NULLB"
	echo 2 > "$NULLB/queue_mode"
	if ((TIMER_NS)); then
		echo 2 > "$NULLB/irqmode"
		echo "$TIMER_NS" > "$NULLB/completion_nsec"
	else
		echo 0 > "$NULLB/irqmode"
	fi
	echo 1024 > "$NULLB/size"
	echo 1 > "$NULLB/power"
	QUEUE=/sys/block/$DEV/queue
	read -r DEVNO < "/sys/block/$DEV/dev"
	echo 2 > "$QUEUE/nomerges"
	echo none > "$QUEUE/scheduler"
	echo 0 > "$QUEUE/wbt_lat_usec"
}

enter_group()
{
	busybox mkdir "$GROUP"
	echo $$ > "$GROUP/cgroup.procs"
}

set_none() { :; }
set_wbt() { echo 75000 > "$QUEUE/wbt_lat_usec"; }
set_iolatency() { echo "$DEVNO target=100000" > "$GROUP/io.latency"; }
set_throttle() { echo "$DEVNO rbps=$HUGE_BPS riops=$HUGE_IOPS" > "$GROUP/io.max"; }
set_mq-deadline() { echo mq-deadline > "$QUEUE/scheduler"; }
set_bfq() { echo bfq > "$QUEUE/scheduler"; }
set_cfq() { echo cfq > "$QUEUE/scheduler"; }

set_iocost()
{
	local model="ctrl=user model=linear" way

	for way in r w; do
		model+=" ${way}bps=$HUGE_BPS ${way}seqiops=$HUGE_IOPS ${way}randiops=$HUGE_IOPS"
	done
	echo "$DEVNO $model" > "$CGROUP/io.cost.model"
	echo "$DEVNO enable=1 ctrl=user min=1000.00 max=10000.00" > "$CGROUP/io.cost.qos"
}

# Starting bfq turns wbt off, so wbt comes last.
set_all()
{
	set_iolatency
	set_iocost
	set_throttle
	set_bfq
	set_wbt
}

configure()
{
	echo +io > "$CGROUP/cgroup.subtree_control"
	new_device
	case $1 in
	iolatency | iocost | throttle | all) enter_group ;;
	esac
	"set_$1"
	echo "$2" > "$QUEUE/iostats"
}

unconfigure()
{
	echo $$ > "$CGROUP/cgroup.procs"
	echo 0 > "$NULLB/power"
	busybox rmdir "$NULLB"
	[ ! -d "$GROUP" ] || busybox rmdir "$GROUP"
}
