// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of CFQ's arithmetic, included by cfq-account.c: of times that may
 * lie behind what is stored already, and of weights.
 */
#include <kunit/test.h>
#include <linux/limits.h>

#define MS		((u64)NSEC_PER_MSEC)
#define COST_MAX	(BIT_ULL(62) - 1)
#define TREE_SIZE	5

static const struct cfq_used_case {
	const char *name;
	u64 dispatch_start, start, charged_until, now, min, used, unaccounted;
	bool one_request;
} cfq_used_cases[] = {
	{ "before the first completion", 1000, 0, 1000, 1400, 0, 400, 0 },
	{ "at the first completion", 1000, 1400, 1000, 1400, 0, 0, 400 },
	{ "one after it", 1000, 1400, 1000, 1401, 0, 1, 400 },
	{ "at the first completion, min 1", 1000, 1400, 0, 1400, 1, 1, 400 },
	{ "never started", 1000, 0, 0, 1000 + 3 * MS, MS, 3 * MS, 0 },
	{ "never started, no time, min 0", 1000, 0, 0, 1000, 0, 0, 0 },
	{ "never started, no time, min 1", 1000, 0, 0, 1000, 1, 1, 0 },
	{ "never started, no time, min 1 ms", 1000, 0, 0, 1000, MS, MS, 0 },
	{ "never started, one below min", 1, 0, 0, MS, MS, MS, 0 },
	{ "never started, one above min", 1, 0, 0, MS + 2, MS, MS + 1, 0 },
	{ "charged one after start", 1000, 1400, 1401, 2000, 0, 599, 400 },
	{ "charged, never started", 1000, 0, 1300, 2000, 0, 700, 0 },
	{ "now one behind dispatch, min 1 ms", 1000, 0, 0, 999, MS, MS, 0 },
	{ "now a tick behind dispatch", 5 * MS, 0, 0, MS, 1, 1, 0 },
	{ "now one behind start", 1000, 1400, 0, 1399, 0, 0, 400 },
	{ "now one behind what is charged", 1, 2, 1000, 999, 0, 0, 1 },
	{ "start one behind dispatch", 1000, 999, 0, 1500, 0, 501, 0 },
	{ "dispatch at the wrap", U64_MAX, 0, U64_MAX, 1, 0, 2, 0 },
	{ "charged one after now, at the wrap", U64_MAX - 1, 0, 1, 0, 0, 0, 0 },
	{ "dispatch after now at the wrap", 0, 0, 0, U64_MAX, 0, 0, 0 },
	{ "start across the wrap", U64_MAX - 2, 2, U64_MAX, 4, 0, 2, 5 },
	{ "start at the wrap", U64_MAX - 2, U64_MAX, U64_MAX - 2, 4, 0, 5, 2 },
	{ "charged across the wrap", U64_MAX - 2, U64_MAX, 1, 4, 0, 3, 2 },
	{ "one request, in the device", 1000, 0, 0, 1400, 1, 400, 0, true },
	{ "one request, at its completion", 1000, 1400, 0, 1400, 1, 400, 0, true },
	{ "one request, after it", 1000, 1400, 0, 2000, 1, 1000, 0, true },
	{ "one request, min 1 ms", 1000, 1400, 0, 2000, MS, MS, 0, true },
	{ "one request, charged", 1000, 1400, 1200, 2000, 1, 800, 0, true },
};

static void cfq_test_used(struct kunit *test)
{
	const struct cfq_used_case *c = test->param_value;
	struct cfq_slice slice = {
		.dispatch_start = c->dispatch_start,
		.start = c->start,
		.charged_until = c->charged_until,
		.one_request = c->one_request,
	};
	u64 unaccounted = 12345, wall, sum, between;

	KUNIT_EXPECT_EQ(test, c->used,
			cfq_slice_used(&slice, c->now, c->min, &unaccounted));
	KUNIT_EXPECT_EQ(test, c->unaccounted, unaccounted);

	/* two charges add up to the wall time: nothing is charged twice */
	wall = cfq_slice_used(&slice, c->now, 0, &unaccounted);
	between = c->now - wall / 2;
	sum = cfq_slice_used(&slice, between, 0, &unaccounted);
	if (time_after64(between, slice.charged_until))
		slice.charged_until = between;
	sum += cfq_slice_used(&slice, c->now, 0, &unaccounted);
	KUNIT_EXPECT_EQ(test, wall, sum);
}

static const struct cfq_resid_case {
	const char *name;
	u64 start, end, now, limit;
	s64 resid;
} cfq_resid_cases[] = {
	{ "left", 1000, 2000, 1300, MS, 700 },
	{ "used up", 1000, 2000, 2000, MS, 0 },
	{ "one overdrawn", 1000, 2000, 2001, MS, -1 },
	{ "overdrawn", 1000, 2000, 2500, MS, -500 },
	{ "never started", 0, 2000, 1300, MS, 0 },
	{ "limit is left", 1000, 2000, 1300, 700, 700 },
	{ "limit is overdrawn", 1000, 2000, 2700, 700, -700 },
	{ "limit 0, left", 1000, 2000, 1300, 0, 0 },
	{ "left across the wrap", U64_MAX - 9, 2, U64_MAX - 1, MS, 4 },
	{ "overdrawn across the wrap", U64_MAX - 9, U64_MAX - 1, 2, MS, -4 },
	{ "farthest", 1000, 1000 + BIT_ULL(63), 1000, U64_MAX, -S64_MAX },
};

static void cfq_test_resid(struct kunit *test)
{
	const struct cfq_resid_case *c = test->param_value;
	const struct cfq_slice slice = { .start = c->start, .end = c->end };

	KUNIT_EXPECT_EQ(test, c->resid,
			cfq_slice_resid(&slice, c->now, c->limit));
}

static const struct cfq_level_case {
	const char *name;
	u64 unit, base, slice[IOPRIO_NR_LEVELS];
} cfq_level_cases[] = {
	{ "0", 1, 0, { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "1 ns", 1, 1, { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "4 ns", 1, 4, { 4, 4, 4, 4, 4, 4, 4, 4 } },
	{ "5 ns", 1, 5, { 9, 8, 7, 6, 5, 4, 3, 2 } },
	{ "1 ms", MS / 10, 10, { 18, 16, 14, 12, 10, 8, 6, 4 } },
	{ "4 ms", MS / 10, 40, { 72, 64, 56, 48, 40, 32, 24, 16 } },
	{ "5 ms", MS, 5, { 9, 8, 7, 6, 5, 4, 3, 2 } },
	{ "100 ms", MS, 100, { 180, 160, 140, 120, 100, 80, 60, 40 } },
};

static void cfq_test_level(struct kunit *test)
{
	const struct cfq_level_case *c = test->param_value;
	u64 base = c->base * c->unit;
	unsigned int i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, c->slice[min(i, 7U)] * c->unit,
				cfq_level_slice(base, i));
	KUNIT_EXPECT_EQ(test, cfq_level_slice(base, 7),
			cfq_level_slice(base, UINT_MAX));
}

static const struct cfq_adapt_case {
	const char *name;
	u64 slice, base, floor, group, busy, adapted;
} cfq_adapt_cases[] = {
	{ "none busy", 100 * MS, 100 * MS, 16 * MS, 300 * MS, 0, 100 * MS },
	{ "just fits", 180 * MS, 100 * MS, 16 * MS, 300 * MS, 3, 180 * MS },
	{ "one too much", 100 * MS, 100 * MS, 0, 300 * MS - 1, 3, 100 * MS - 1 },
	{ "many", 100 * MS, 100 * MS, 16 * MS, 300 * MS, 10, 30 * MS },
	{ "many, high level", 180 * MS, 100 * MS, 16 * MS, 300 * MS, 10, 54 * MS },
	{ "floor", 100 * MS, 100 * MS, 16 * MS, 300 * MS, 100, 16 * MS },
	{ "floor, low level", 50 * MS, 100 * MS, 16 * MS, 300 * MS, 100, 8 * MS },
	{ "floor below base", 100, 100, 99, 1, 99, 99 },
	{ "huge floor", 90 * MS, 100 * MS, U64_MAX, MS, 99, 90 * MS },
	{ "no group slice", 100 * MS, 100 * MS, 0, 0, 3, 1 },
	{ "slice 0", 0, 100 * MS, 16 * MS, 300 * MS, 100, 0 },
	{ "slice 1", 1, 100 * MS, 0, 300 * MS, 100, 1 },
	{ "base 0", 100 * MS, 0, 16 * MS, 0, 100, 100 * MS },
	{ "base 1", 100 * MS, 1, 16 * MS, 1, 100, 100 * MS },
	{ "large", BIT_ULL(40), BIT_ULL(41), 0, BIT_ULL(40), 2, BIT_ULL(38) },
	{ "huge base", 100 * MS, BIT_ULL(63), 0, 300 * MS, 2, 1 },
	{ "huge group slice", MS, U64_MAX, 0, U64_MAX, UINT_MAX, MS },
};

static void cfq_test_adapt(struct kunit *test)
{
	const struct cfq_adapt_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->adapted,
			cfq_adapt_slice(c->slice, c->base, c->floor, c->group,
					c->busy));
}

/* Above the floor, the slices of all fill what the group has. */
static void cfq_test_adapt_sum(struct kunit *test)
{
	u64 group = 300 * MS, sum;
	unsigned int busy;

	for (busy = 3; busy < 1000000; busy += busy / 2) {
		sum = busy * cfq_adapt_slice(100 * MS, 100 * MS, 0, group, busy);
		KUNIT_EXPECT_LE(test, sum, group);
		KUNIT_EXPECT_GT(test, sum, group - busy);
	}
}

/* What has two arguments. */
struct cfq_pair_case {
	const char *name;
	u64 a, b, result;
};

static const struct cfq_pair_case cfq_vmin_cases[] = {
	{ "0", 0, 0, 0 }, { "0 to 1", 0, 1, 1 }, { "1 to 0", 1, 0, 1 },
	{ "equal", 1000, 1000, 1000 },
	{ "one ahead", 1000, 1001, 1001 }, { "one behind", 1000, 999, 1000 },
	{ "to the end", U64_MAX - 1, U64_MAX, U64_MAX },
	{ "back from the end", U64_MAX, U64_MAX - 1, U64_MAX },
	{ "across the wrap", U64_MAX, 0, 0 },
	{ "far across the wrap", U64_MAX - 1, COST_MAX, COST_MAX },
	{ "back across the wrap", 0, U64_MAX, 0 },
};

static void cfq_test_vmin(struct kunit *test)
{
	const struct cfq_pair_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->result, cfq_min_vdisktime(c->a, c->b));
}

static const struct cfq_pair_case cfq_cost_cases[] = {
	{ "nothing", 0, 1, 0 },
	{ "all of the device", MS, CFQ_SHARE_ALL, MS },
	{ "one below all", CFQ_SHARE_ALL, CFQ_SHARE_ALL - 1, CFQ_SHARE_ALL + 1 },
	{ "1 ns, a third", 1, 349525, 3 },
	{ "1 ns, share 3", 1, 3, 349525 },
	{ "share 1", MS, 1, MS << 20 },
	{ "share 0", MS, 0, MS << 20 },
	{ "1 request", CFQ_REQUEST_CHARGE, CFQ_SHARE_ALL / 4, 4 * MS },
	{ "8 requests", 8 * CFQ_REQUEST_CHARGE, CFQ_SHARE_ALL / 2, 16 * MS },
	{ "large", BIT_ULL(60) + 1, CFQ_SHARE_ALL / 2, BIT_ULL(61) + 2 },
	{ "last of share 1", BIT_ULL(42) - 1, 1, COST_MAX - (BIT_ULL(20) - 1) },
	{ "too much for share 1", BIT_ULL(42), 1, COST_MAX },
	{ "too much for all", COST_MAX + 1, CFQ_SHARE_ALL, COST_MAX },
	{ "far too much for all", U64_MAX, CFQ_SHARE_ALL, COST_MAX },
};

static void cfq_test_cost(struct kunit *test)
{
	const struct cfq_pair_case *c = test->param_value;
	u64 cost = cfq_vdisktime_cost(c->a, c->b);

	KUNIT_EXPECT_EQ(test, c->result, cost);
	/* two of them still order */
	KUNIT_EXPECT_FALSE(test, time_before64(U64_MAX + 2 * cost, U64_MAX));
}

static const struct cfq_pair_case cfq_busy_cases[] = {
	{ "none", 0, 0, 0 }, { "first", 0, 1, 1 }, { "last", 1, 0, 0 },
	{ "all gone", 8, 0, 6 }, { "half of them gone", 8, 4, 7 },
	{ "one gone", 8, 7, 7 }, { "the same", 8, 8, 8 }, { "more", 8, 32, 32 },
};

static void cfq_test_busy(struct kunit *test)
{
	const struct cfq_pair_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->result, cfq_busy_avg(c->a, c->b));
}

/* The root comes first, and parents before their children. */
static const struct cfq_tree_case {
	const char *name;
	struct cfq_tree_group {
		unsigned int parent, weight, leaf_weight, busy;
		u64 num, den;	/* share that is expected */
	} groups[TREE_SIZE];
} cfq_tree_cases[] = {
	{ "root alone", { { 0, 1000, 500, 1, 1, 1 } } },
	{ "flat", { { 0, 1000, 500, 0, 1, 1 }, { 0, 100, 9, 1, 1, 7 },
		    { 0, 200, 9, 1, 2, 7 }, { 0, 400, 9, 1, 4, 7 } } },
	{ "flat, an inactive sibling",
	  { { 0, 1000, 500, 0, 1, 1 }, { 0, 100, 9, 1, 1, 3 },
	    { 0, 200, 9, 1, 2, 3 }, { 0, 400, 9, 0, 0, 0 } } },
	{ "flat, root has tasks",
	  { { 0, 1000, 300, 1, 3, 10 }, { 0, 100, 9, 1, 1, 10 },
	    { 0, 200, 9, 1, 2, 10 }, { 0, 400, 9, 1, 4, 10 } } },
	{ "two levels",
	  { { 0, 1000, 500, 0, 0, 0 }, { 0, 100, 77, 0, 0, 0 },
	    { 0, 300, 9, 1, 3, 4 }, { 1, 100, 9, 1, 1, 12 },
	    { 1, 200, 9, 1, 2, 12 } } },
	{ "two levels, inner group has tasks",
	  { { 0, 1000, 500, 0, 0, 0 }, { 0, 100, 300, 1, 3, 24 },
	    { 0, 300, 9, 1, 3, 4 }, { 1, 100, 9, 1, 1, 24 },
	    { 1, 200, 9, 1, 2, 24 } } },
	{ "two levels, inner group without active children",
	  { { 0, 1000, 500, 0, 0, 0 }, { 0, 100, 300, 1, 1, 4 },
	    { 0, 300, 9, 1, 3, 4 }, { 1, 100, 9, 0, 0, 0 } } },
	{ "deep and small",
	  { { 0, 1, 1000, 1, 1000, 1001 }, { 0, 1, 1000, 1, 1000, 1002001 },
	    { 1, 1, 500, 1, 1, 1002001 } } },
	{ "deep and even",
	  { { 0, 1, 300, 1, 3, 10 }, { 0, 700, 300, 1, 21, 100 },
	    { 1, 700, 300, 1, 147, 1000 }, { 2, 700, 300, 1, 1029, 10000 },
	    { 3, 700, 300, 1, 2401, 10000 } } },
	{ "too small",
	  { { 0, 1, 3000000, 1, 3000000, 3000001 }, { 0, 1, 9, 1, 1, 3000001 } } },
};

static void cfq_tree_check(struct kunit *test, struct cfq_group *cfqg)
{
	const struct cfq_tree_case *c = test->param_value;
	const struct cfq_tree_group *g = c->groups;
	unsigned int share, sum = 0;
	u64 most, least;
	int i;

	for (i = 0; i < TREE_SIZE; i++) {
		if (!g[i].busy)
			continue;
		share = cfq_group_share(&cfqg[i]);
		/* rounded down; one less at most, where that is exact */
		most = div64_u64(CFQ_SHARE_ALL * g[i].num, g[i].den);
		least = div64_u64(CFQ_SHARE_ALL * g[i].num - 1, g[i].den);
		KUNIT_EXPECT_LE(test, share, most ?: 1);
		KUNIT_EXPECT_GE(test, share, least ?: 1);
		sum += share;
	}
	KUNIT_EXPECT_LE(test, sum, CFQ_SHARE_ALL);
}

/* Shares are right, also after groups went and came back or were reweighed. */
static void cfq_test_tree(struct kunit *test)
{
	const struct cfq_tree_case *c = test->param_value;
	const struct cfq_tree_group *g = c->groups;
	struct cfq_group *cfqg;
	unsigned int factor;
	int i;

	cfqg = kunit_kcalloc(test, TREE_SIZE, sizeof(*cfqg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cfqg);
	for (i = 0; i < TREE_SIZE; i++) {
		cfqg[i].parent = i ? &cfqg[g[i].parent] : NULL;
		cfqg[i].weight = g[i].weight;
		cfqg[i].leaf_weight = g[i].leaf_weight;
		if (g[i].busy)
			cfq_group_activate(&cfqg[i]);
	}
	cfq_tree_check(test, cfqg);

	for (i = 0; i < TREE_SIZE; i++) {
		if (!g[i].busy)
			continue;
		cfq_group_deactivate(&cfqg[i]);
		KUNIT_EXPECT_LE(test, cfq_group_share(&cfqg[i]), CFQ_SHARE_ALL);
		cfq_group_activate(&cfqg[i]);
		cfq_tree_check(test, cfqg);
	}

	for (factor = 7; factor; factor /= 7) {
		for (i = 0; i < TREE_SIZE; i++)
			cfq_group_reweigh(&cfqg[i], factor * g[i].weight,
					  factor * g[i].leaf_weight);
		cfq_tree_check(test, cfqg);
	}

	for (i = 0; i < TREE_SIZE; i++) {
		if (g[i].busy)
			cfq_group_deactivate(&cfqg[i]);
	}
	for (i = 0; i < TREE_SIZE; i++) {
		KUNIT_EXPECT_EQ(test, cfqg[i].active, 0);
		KUNIT_EXPECT_EQ(test, cfqg[i].active_weight, 0);
		KUNIT_EXPECT_EQ(test, cfq_group_share(&cfqg[i]), CFQ_SHARE_ALL);
	}
}

static const struct cfq_think_case {
	const char *name;
	u64 last_end, now, limit, sample;
} cfq_think_cases[] = {
	{ "nothing completed yet", 0, 5 * MS, 16 * MS, 0 },
	{ "stamp one behind the completion", 5 * MS, 5 * MS - 1, 16 * MS, 0 },
	{ "stamp a tick behind the completion", 5 * MS, MS, 16 * MS, 0 },
	{ "no time", 5 * MS, 5 * MS, 16 * MS, 0 },
	{ "1 ns", 5 * MS, 5 * MS + 1, 16 * MS, 1 },
	{ "short", 5 * MS, 6 * MS, 16 * MS, MS },
	{ "the limit", 1, 16 * MS + 1, 16 * MS, 16 * MS },
	{ "one above the limit", 1, 16 * MS + 2, 16 * MS, 16 * MS },
	{ "a day", 1, 86400000 * MS, 16 * MS, 16 * MS },
	{ "across the wrap", U64_MAX, 10 * MS - 1, 16 * MS, 10 * MS },
	{ "one behind, at the wrap", U64_MAX, U64_MAX - 1, 16 * MS, 0 },
};

static void cfq_test_think(struct kunit *test)
{
	const struct cfq_think_case *c = test->param_value;
	struct cfq_ttime ttime = { .last_end = c->last_end };
	int i;

	cfq_ttime_update(&ttime, c->now, c->limit);
	KUNIT_EXPECT_EQ(test, ttime.samples, c->last_end ? 32 : 0);
	KUNIT_EXPECT_EQ(test, ttime.total, 32 * c->sample);
	KUNIT_EXPECT_EQ(test, ttime.mean, c->last_end ? c->sample + 4 : 0);
	KUNIT_EXPECT_FALSE(test, cfq_ttime_long(&ttime, 8 * MS));

	for (i = 0; i < 20; i++)
		cfq_ttime_update(&ttime, c->now, c->limit);
	KUNIT_EXPECT_GE(test, ttime.mean, c->sample);
	KUNIT_EXPECT_LE(test, ttime.mean, c->sample + c->sample / 16 + 4);
	KUNIT_EXPECT_EQ(test, cfq_ttime_long(&ttime, 8 * MS),
			c->sample > 8 * MS);

	/* one that is longer, however long it is, does not make up for it all */
	if (c->last_end && c->sample < MS) {
		cfq_ttime_update(&ttime, c->last_end + BIT_ULL(50), 16 * MS);
		KUNIT_EXPECT_LE(test, ttime.mean, 3 * MS);
	}
}

#define CFQ_PARAM(table, type)						\
static void table##_desc(const struct type##_case *c, char *desc)	\
{									\
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);			\
}									\
KUNIT_ARRAY_PARAM(table, table##_cases, table##_desc)

CFQ_PARAM(cfq_used, cfq_used);
CFQ_PARAM(cfq_resid, cfq_resid);
CFQ_PARAM(cfq_level, cfq_level);
CFQ_PARAM(cfq_adapt, cfq_adapt);
CFQ_PARAM(cfq_vmin, cfq_pair);
CFQ_PARAM(cfq_cost, cfq_pair);
CFQ_PARAM(cfq_busy, cfq_pair);
CFQ_PARAM(cfq_tree, cfq_tree);
CFQ_PARAM(cfq_think, cfq_think);

static struct kunit_case cfq_account_cases[] = {
	KUNIT_CASE_PARAM(cfq_test_used, cfq_used_gen_params),
	KUNIT_CASE_PARAM(cfq_test_resid, cfq_resid_gen_params),
	KUNIT_CASE_PARAM(cfq_test_level, cfq_level_gen_params),
	KUNIT_CASE_PARAM(cfq_test_adapt, cfq_adapt_gen_params),
	KUNIT_CASE(cfq_test_adapt_sum),
	KUNIT_CASE_PARAM(cfq_test_vmin, cfq_vmin_gen_params),
	KUNIT_CASE_PARAM(cfq_test_cost, cfq_cost_gen_params),
	KUNIT_CASE_PARAM(cfq_test_busy, cfq_busy_gen_params),
	KUNIT_CASE_PARAM(cfq_test_tree, cfq_tree_gen_params),
	KUNIT_CASE_PARAM(cfq_test_think, cfq_think_gen_params),
	{}
};

static struct kunit_suite cfq_account_suite = {
	.name = "cfq-account",
	.test_cases = cfq_account_cases,
};

kunit_test_suite(cfq_account_suite);
