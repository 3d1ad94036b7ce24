#!/bin/bash
# shell.sh ROWS COLUMNS: an interactive shell in the guest, for scripts/shell.

dmesg -n 1
modes=$(cat /sys/block/nullb0/queue/scheduler 2>/dev/null)
cat <<END

This is Linux $(uname -r), the $TREE kernel.  The files are your machine's, and
what you change is gone when you leave (exit).  Something to try:

  fio --name=x --filename=/dev/nullb0 --rw=randread --bs=4k --ioengine=io_uring \\
      --iodepth=32 --runtime=5 --time_based
  cd /sys/block/nullb0/queue; cat scheduler	# $modes

END
stty sane rows "$1" cols "$2"
export PS1="$TREE# " TERM=linux
exec bash --norc -i
