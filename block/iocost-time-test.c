// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of iocost's arithmetic of time, included by blk-iocost.c: "now" is
 * the stamp of a plug, and may lie behind what the timer, or another task, has
 * stored.
 */
#include <kunit/test.h>
#include <linux/limits.h>

struct iocost_test {
	struct ioc ioc;
	struct blkcg_gq blkg;
	struct ioc_gq iocg;	/* ends in an array of ancestors, has none */
};

/* A cgroup without debt, budget or waiters, on a device of one unit a ns. */
static struct iocost_test *iocost_test_create(struct kunit *test)
{
	struct iocost_test *it = kunit_kzalloc(test, sizeof(*it), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, it);
	spin_lock_init(&it->ioc.lock);
	it->ioc.enabled = true;
	it->ioc.period_us = 10 * USEC_PER_MSEC;
	it->ioc.vtime_base_rate = VTIME_PER_USEC;
	init_waitqueue_head(&it->iocg.waitq);
	INIT_LIST_HEAD(&it->iocg.active_list);
	it->iocg.hweight_active = WEIGHT_ONE;
	it->iocg.hweight_inuse = WEIGHT_ONE;
	it->iocg.ioc = &it->ioc;
	it->iocg.pd.blkg = &it->blkg;
	return it;
}

static const struct iocost_elapsed_case {
	u64 then;
	u64 now;
	u64 elapsed;
} iocost_elapsed_cases[] = {
	{ 1000, 999, 0 },
	{ 1000, 1000, 0 },
	{ 1000, 1001, 1 },
	{ 4000, 1, 0 },
	{ U64_MAX, U64_MAX - 1, 0 },
	{ U64_MAX, U64_MAX, 0 },
	{ U64_MAX - 1, U64_MAX, 1 },
	{ U64_MAX, 1, 2 },
	{ 1, U64_MAX, 0 },
};

static void iocost_elapsed_desc(const struct iocost_elapsed_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from %llx to %llx", c->then,
		 c->now);
}

KUNIT_ARRAY_PARAM(iocost_elapsed, iocost_elapsed_cases, iocost_elapsed_desc);

/* What cost.wait, cost.indebt and cost.indelay add up, when it ends. */
static void iocost_stat_sums(struct kunit *test)
{
	const struct iocost_elapsed_case *c = test->param_value;
	struct iocost_test *it = iocost_test_create(test);
	struct ioc_now now = { .now = c->now };
	struct ioc_gq *iocg = &it->iocg;

	iocg->wait_since = c->then;
	iocg->indebt_since = c->then;
	iocg->indelay_since = c->then;
	/* a delay that has decayed */
	iocg->delay = 1;
	iocg->delay_at = c->now - 2 * USEC_PER_SEC;

	spin_lock_irq(&it->ioc.lock);
	spin_lock(&iocg->waitq.lock);
	iocg_pay_debt(iocg, 0, &now);
	iocg_kick_waitq(iocg, false, &now);
	spin_unlock(&iocg->waitq.lock);
	spin_unlock_irq(&it->ioc.lock);

	KUNIT_EXPECT_EQ(test, iocg->stat.wait_us, c->elapsed);
	KUNIT_EXPECT_EQ(test, iocg->stat.indebt_us, c->elapsed);
	KUNIT_EXPECT_EQ(test, iocg->stat.indelay_us, c->elapsed);
	KUNIT_EXPECT_EQ(test, iocg->wait_since, 0);
	KUNIT_EXPECT_EQ(test, iocg->indelay_since, 0);
}

static const struct iocost_delay_case {
	const char *name;
	u64 set_at;
	u64 now;
	unsigned int halved;	/* how often */
} iocost_delay_cases[] = {
	{ "one behind", 1000, 999, 0 },
	{ "equal", 1000, 1000, 0 },
	{ "a tick behind", 4000, 1, 0 },
	{ "nearly a second", 1, USEC_PER_SEC, 0 },
	{ "a second", 1, 1 + USEC_PER_SEC, 1 },
	{ "three seconds across the wrap", U64_MAX, 3 * USEC_PER_SEC - 1, 3 },
};

static void iocost_delay_desc(const struct iocost_delay_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(iocost_delay, iocost_delay_cases, iocost_delay_desc);

/* A delay that another CPU has set after the stamp is in effect, undecayed. */
static void iocost_delay_holds(struct kunit *test)
{
	const struct iocost_delay_case *c = test->param_value;
	struct iocost_test *it = iocost_test_create(test);
	struct ioc_now now = { .now = c->now };
	struct ioc_gq *iocg = &it->iocg;
	bool delayed;

	iocg->delay = MIN_DELAY << 4;
	iocg->delay_at = c->set_at;
	/* counted as congested already: there is no cgroup to count it */
	atomic_set(&it->blkg.use_delay, -1);

	spin_lock_irq(&iocg->waitq.lock);
	delayed = iocg_kick_delay(iocg, &now);
	spin_unlock_irq(&iocg->waitq.lock);

	KUNIT_EXPECT_TRUE(test, delayed);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&it->blkg.delay_nsec),
			(u64)((MIN_DELAY << 4) >> c->halved) * NSEC_PER_USEC);
}

/* A request that seems to have got its tag before it asked did not wait. */
static void iocost_request_wait(struct kunit *test)
{
	const struct iocost_elapsed_case *c = test->param_value;
	struct iocost_test *it = iocost_test_create(test);
	struct request *rq = kunit_kzalloc(test, sizeof(*rq), GFP_KERNEL);
	u64 waited = 0;
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, rq);
	it->ioc.pcpu_stat = alloc_percpu(struct ioc_pcpu_stat);
	KUNIT_ASSERT_TRUE(test, it->ioc.pcpu_stat);

	rq->alloc_time_ns = c->then;
	rq->start_time_ns = c->now;
	ioc_rqos_done(&it->ioc.rqos, rq);
	for_each_possible_cpu(cpu)
		waited += local64_read(&per_cpu_ptr(it->ioc.pcpu_stat,
						    cpu)->rq_wait_ns);
	free_percpu(it->ioc.pcpu_stat);
	KUNIT_EXPECT_EQ(test, waited, c->elapsed);
}

static struct kunit_case iocost_time_cases[] = {
	KUNIT_CASE_PARAM(iocost_stat_sums, iocost_elapsed_gen_params),
	KUNIT_CASE_PARAM(iocost_delay_holds, iocost_delay_gen_params),
	KUNIT_CASE_PARAM(iocost_request_wait, iocost_elapsed_gen_params),
	{}
};

static struct kunit_suite iocost_time_suite = {
	.name = "iocost-time",
	.test_cases = iocost_time_cases,
};

kunit_test_suite(iocost_time_suite);
