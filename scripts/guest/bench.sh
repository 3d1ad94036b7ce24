#!/bin/bash
# Runs in a guest, for scripts/bench: measures one configuration for each line
# "CONFIG IOSTATS BATCH MS" that comes in, and answers with a line "iops N".

set -euo pipefail
. "$(dirname "$0")/configs.sh"
. "$(dirname "$0")/blk-bench.sh"

echo ready
while read -r config iostats batch ms; do
	configure "$config" "$iostats"
	blk_bench "$batch" "$ms"
	unconfigure
	echo "iops $IOPS"
done
