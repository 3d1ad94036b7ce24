// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of BFQ's arithmetic of time, included by bfq-iosched.c: "now" is
 * the stamp of a plug, and may lie behind what a completion on another CPU, or
 * another task, has stored.
 */
#include <kunit/test.h>
#include <linux/limits.h>

enum {
	/* what takes microseconds fits into a tick sooner than that */
	BFQ_TEST_TRIES	= 500,
	BFQ_TEST_IDLE	= 8 * NSEC_PER_MSEC,
};

struct bfq_test {
	struct bfq_data bfqd;
	struct bfq_queue bfqq;
	struct request_queue q;
	struct io_context ioc;
	struct bfq_io_cq bic;
};

/* A queue of a process that is there, whose requests have all completed. */
static struct bfq_test *bfq_test_create(struct kunit *test)
{
	struct bfq_test *bt = kunit_kzalloc(test, sizeof(*bt), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bt);
	bt->bfqd.queue = &bt->q;
	bt->bfqd.bfq_slice_idle = BFQ_TEST_IDLE;
	bt->bfqd.bfq_max_budget = 100;
	bt->bfqq.bfqd = &bt->bfqd;
	bt->bfqq.sort_list = RB_ROOT;
	bt->bfqq.ioprio_class = IOPRIO_CLASS_BE;
	bt->bfqq.split_time = jiffies - HZ;
	bfq_mark_bfqq_sync(&bt->bfqq);
	bfq_mark_bfqq_has_short_ttime(&bt->bfqq);
	atomic_set(&bt->ioc.active_ref, 1);
	bt->bic.icq.ioc = &bt->ioc;
	return bt;
}

/* One more sample of the think time, with @now in the plug. */
static bool bfq_test_think(struct bfq_test *bt, u64 now)
{
	struct bfq_ttime before = bt->bfqq.ttime;
	int try;

	for (try = 0; try < BFQ_TEST_TRIES; try++) {
		struct blk_plug plug;
		unsigned long tick;

		bt->bfqq.ttime = before;
		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		plug.stamp.epoch = blk_time_epoch(current);
		plug.stamp.ns = now;
		bfq_update_io_thinktime(&bt->bfqd, &bt->bfqq);
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			return true;
	}
	return false;
}

static const struct bfq_elapsed_case {
	u64 then;
	u64 now;
	u64 elapsed;
} bfq_elapsed_cases[] = {
	{ 1000, 999, 0 },
	{ 1000, 1000, 0 },
	{ 1000, 1001, 1 },
	{ 0, 0, 0 },
	{ 1, 0, 0 },
	{ 0, 1, 1 },
	{ U64_MAX, U64_MAX - 1, 0 },
	{ U64_MAX, U64_MAX, 0 },
	{ U64_MAX - 1, U64_MAX, 1 },
	{ U64_MAX, 0, 1 },
	{ 0, U64_MAX, 0 },
	{ 4 * NSEC_PER_MSEC, 0, 0 },
	{ 0, 10 * NSEC_PER_USEC, 10 * NSEC_PER_USEC },
};

static void bfq_elapsed_desc(const struct bfq_elapsed_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from %llx to %llx", c->then,
		 c->now);
}

KUNIT_ARRAY_PARAM(bfq_elapsed, bfq_elapsed_cases, bfq_elapsed_desc);

/* A process that answers at once keeps its mark. */
static void bfq_think_time(struct kunit *test)
{
	const struct bfq_elapsed_case *c = test->param_value;
	struct bfq_test *bt = bfq_test_create(test);
	int i;

	bt->bfqq.ttime.last_end_request = c->then;
	KUNIT_ASSERT_TRUE(test, bfq_test_think(bt, c->now));
	/* fixed point, an eighth of it new */
	KUNIT_EXPECT_EQ(test, bt->bfqq.ttime.ttime_total, 256 / 8 * c->elapsed);

	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_TRUE(test, bfq_test_think(bt, c->now));
	KUNIT_EXPECT_TRUE(test, bfq_sample_valid(bt->bfqq.ttime.ttime_samples));
	bfq_update_has_short_ttime(&bt->bfqd, &bt->bfqq, &bt->bic);
	KUNIT_EXPECT_TRUE(test, bfq_bfqq_has_short_ttime(&bt->bfqq));
}

/* ... and one that thinks for long does not. */
static void bfq_long_think_time(struct kunit *test)
{
	struct bfq_test *bt = bfq_test_create(test);
	int i;

	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_TRUE(test, bfq_test_think(bt, BFQ_TEST_IDLE));
	KUNIT_EXPECT_GT(test, bt->bfqq.ttime.ttime_mean, BFQ_TEST_IDLE / 2);
}

/* The time without I/O is a sum that is halved again and again: it never wraps. */
static void bfq_idle_time(struct kunit *test)
{
	const struct bfq_elapsed_case *c = test->param_value;
	struct bfq_test *bt = bfq_test_create(test);

	bt->bfqq.ttime.last_end_request = c->then;
	bt->bfqq.io_start_time = c->now - 100 * NSEC_PER_MSEC;
	bfq_update_io_intensity(&bt->bfqq, c->now);
	KUNIT_EXPECT_EQ(test, bt->bfqq.tot_idle_time, c->elapsed);
	KUNIT_EXPECT_TRUE(test, bfq_bfqq_IO_bound(&bt->bfqq));
}

static const struct bfq_slow_case {
	const char *name;
	u64 start;
	u64 end;
	unsigned long delta_ms;
	bool slow;
} bfq_slow_cases[] = {
	{ "one behind", 1000, 999, 8, false },
	{ "equal", 1000, 1000, 8, false },
	{ "a tick behind", 10 * NSEC_PER_MSEC, 0, 8, false },
	{ "long behind", 30 * NSEC_PER_MSEC, 0, 8, false },
	{ "short", 0, NSEC_PER_MSEC - 1, 8, false },
	{ "long enough", 0, NSEC_PER_MSEC, 1, false },
	{ "slow", 0, 21 * NSEC_PER_MSEC, 21, true },
	{ "slow across the wrap", U64_MAX, 21 * NSEC_PER_MSEC - 1, 21, true },
	{ "hung for two hours", 0, 7200 * NSEC_PER_SEC,
	  U32_MAX / USEC_PER_MSEC, true },
};

static void bfq_slow_desc(const struct bfq_slow_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bfq_slow, bfq_slow_cases, bfq_slow_desc);

/* A budget that another task has started after the stamp was not long in use. */
static void bfq_slow_queue(struct kunit *test)
{
	const struct bfq_slow_case *c = test->param_value;
	struct bfq_test *bt = bfq_test_create(test);
	unsigned long delta_ms = 0;
	bool slow;

	bt->bfqd.last_budget_start = ns_to_ktime(c->start);
	slow = bfq_bfqq_is_slow(&bt->bfqd, &bt->bfqq, c->end,
				BFQQE_BUDGET_TIMEOUT, &delta_ms);
	KUNIT_EXPECT_EQ(test, slow, c->slow);
	KUNIT_EXPECT_EQ(test, delta_ms, c->delta_ms);
}

static struct kunit_case bfq_time_cases[] = {
	KUNIT_CASE_PARAM(bfq_think_time, bfq_elapsed_gen_params),
	KUNIT_CASE(bfq_long_think_time),
	KUNIT_CASE_PARAM(bfq_idle_time, bfq_elapsed_gen_params),
	KUNIT_CASE_PARAM(bfq_slow_queue, bfq_slow_gen_params),
	{}
};

static struct kunit_suite bfq_time_suite = {
	.name = "bfq-time",
	.test_cases = bfq_time_cases,
};

kunit_test_suite(bfq_time_suite);
