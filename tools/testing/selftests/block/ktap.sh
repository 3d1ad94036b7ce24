# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# KTAP output for shell tests. To be sourced. Names and rules follow
# ../kselftest.h: print the header, then the plan, then one result a test.

export KSFT_PASS=0
export KSFT_FAIL=1
export KSFT_SKIP=4

KTAP_PLAN=0
KTAP_PASSED=0
KTAP_FAILED=0
KTAP_SKIPPED=0

ktap_print_header()
{
	# The runner that wraps the output has printed one of its own.
	[ -n "${KSFT_TAP_LEVEL-}" ] || echo "TAP version 13"
}

# ktap_set_plan COUNT
ktap_set_plan()
{
	KTAP_PLAN=$1
	echo "1..$1"
}

# ktap_print_msg WORD...
ktap_print_msg()
{
	echo "# $*"
}

ktap_test_num()
{
	echo $((KTAP_PASSED + KTAP_FAILED + KTAP_SKIPPED))
}

# ktap_test_pass NAME
ktap_test_pass()
{
	KTAP_PASSED=$((KTAP_PASSED + 1))
	echo "ok $(ktap_test_num) $1"
}

# ktap_test_fail NAME
ktap_test_fail()
{
	KTAP_FAILED=$((KTAP_FAILED + 1))
	echo "not ok $(ktap_test_num) $1"
}

# ktap_test_skip NAME [REASON]
ktap_test_skip()
{
	KTAP_SKIPPED=$((KTAP_SKIPPED + 1))
	echo "ok $(ktap_test_num) $1 # SKIP${2:+ $2}"
}

# ktap_skip_all REASON: instead of a plan. The test is to exit with $KSFT_SKIP.
ktap_skip_all()
{
	echo "1..0 # SKIP $1"
}

# Exits: passed only if all tests of the plan ran and none failed.
ktap_finished()
{
	echo "# Totals: pass:$KTAP_PASSED fail:$KTAP_FAILED skip:$KTAP_SKIPPED"
	if [ "$KTAP_PLAN" -ne "$(ktap_test_num)" ]; then
		ktap_print_msg "planned $KTAP_PLAN tests, ran $(ktap_test_num)"
		exit "$KSFT_FAIL"
	fi
	[ "$KTAP_FAILED" -eq 0 ] || exit "$KSFT_FAIL"
	exit "$KSFT_PASS"
}
