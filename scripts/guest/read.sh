#!/bin/bash
# Does the kernel that scripts/bisect boots do I/O at all?
set -eu
dd if=/dev/nullb0 of=/dev/null bs=4k count=256 iflag=direct status=none
