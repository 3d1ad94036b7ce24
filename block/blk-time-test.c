// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the issue-side time that a plug caches, see blk-time.h.
 *
 * A rule can only be seen to hold while no other one ends the stamp. So each
 * case repeats itself until it has run within one tick and, where it is not
 * about leaving the CPU, with preemption off. What happened in between is told
 * by jiffies, by the other threads, and for a sleep by the scheduler: a timer
 * may end one before it begins.
 *
 * A failed assertion ends the thread, which must not leave a plug behind: plug,
 * record, unplug, then expect.
 */
#include <kunit/test.h>

#include <linux/blk-mq.h>
#include <linux/blk-time.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>

#include "blk.h"
#include "blk-cgroup.h"
#include "blk-mq.h"

enum {
	/* a case that takes microseconds fits into a tick sooner than that */
	MAX_TRIES	= 500,
	/* long enough for a fresh reading to differ, shorter than any tick */
	SHORT_US	= 20,
	/* longer than a tick of any HZ */
	LONG_MS		= 25,
	/* requests that the plug is told to expect */
	NR_CACHED	= 4,
	/* enough for as many tags in one word of the tag map */
	QUEUE_DEPTH	= 128,
};

/*
 * Return the issue time once the clock has moved on from @then: a user-mode
 * kernel's clock is coarse enough to stand still over a switch and back.
 */
static u64 time_after_spin(u64 then)
{
	while (ktime_get_ns() == then)
		cpu_relax();
	return blk_time_get_ns();
}

static void plug_same_stamp(struct kunit *test)
{
	struct blk_plug plug;
	u64 a = 0, b = 0;
	ktime_t c = 0;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		a = blk_time_get_ns();
		b = time_after_spin(a);
		c = blk_time_get();
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_EQ(test, a, b);
	KUNIT_EXPECT_EQ(test, a, (u64)ktime_to_ns(c));
}

static void no_plug_is_fresh(struct kunit *test)
{
	u64 a, b, before = ktime_get_ns();

	a = blk_time_get_ns();
	b = time_after_spin(a);
	KUNIT_EXPECT_GE(test, a, before);
	KUNIT_EXPECT_GT(test, b, a);
	KUNIT_EXPECT_GT(test, (u64)ktime_to_ns(blk_time_get()), before);
}

struct submission_seen {
	u64 first;
	u64 second;	/* for the same bio */
	u64 plugged;	/* in a plug on the way */
	u64 after;	/* once that is finished */
	u64 next;	/* for the next bio */
};

/* What submit_bio_noacct() does where there is no plug, but for a bio. */
static void submission_run(struct submission_seen *seen)
{
	struct blk_submission sub = { };
	struct bio next = { };
	struct blk_plug plug;

	blk_time_stamp_init(&sub.stamp);
	current->bio_list = sub.bio_list;
	bio_list_add(&current->bio_list[0], &next);
	seen->first = blk_time_get_ns();
	seen->second = time_after_spin(seen->first);
	blk_start_plug(&plug);
	seen->plugged = blk_time_get_ns();
	blk_finish_plug(&plug);
	seen->after = time_after_spin(seen->plugged);
	if (blk_submission_next(&sub) == &next)
		seen->next = blk_time_get_ns();
	current->bio_list = NULL;
}

static void submission_shares_stamp(struct kunit *test)
{
	struct submission_seen seen = { };
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		preempt_disable();
		tick = jiffies;
		submission_run(&seen);
		tick -= jiffies;
		preempt_enable();
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_EQ(test, seen.second, seen.first);
	KUNIT_EXPECT_GT(test, seen.plugged, seen.first);
	KUNIT_EXPECT_EQ(test, seen.after, seen.first);
	KUNIT_EXPECT_GT(test, seen.next, seen.first);
}

static void never_ahead_of_clock(struct kunit *test)
{
	struct blk_plug plug;
	int i, ahead = 0;

	blk_start_plug(&plug);
	for (i = 0; i < 10000; i++) {
		u64 stamp = blk_time_get_ns();

		if (stamp > ktime_get_ns())
			ahead++;
		if (i % 100 == 0)
			cond_resched();
	}
	blk_finish_plug(&plug);
	KUNIT_EXPECT_EQ(test, ahead, 0);
}

/* With preemption off nothing but the tick can end the stamp. */
static void tick_ends_stamp(struct kunit *test)
{
	struct blk_plug plug;
	unsigned long tick;
	u64 a, b, after;

	blk_start_plug(&plug);
	preempt_disable();
	a = blk_time_get_ns();
	tick = jiffies;
	while (jiffies - tick < 2)
		cpu_relax();
	after = ktime_get_ns();
	b = blk_time_get_ns();
	preempt_enable();
	blk_finish_plug(&plug);

	KUNIT_EXPECT_GT(test, b, a);
	KUNIT_EXPECT_GE(test, b, after);
}

static void finish_ends_stamp(struct kunit *test)
{
	struct blk_plug plug;
	u64 a = 0, b = 0;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		preempt_disable();
		tick = jiffies;
		blk_start_plug(&plug);
		a = blk_time_get_ns();
		blk_finish_plug(&plug);
		blk_start_plug(&plug);
		b = time_after_spin(a);
		blk_finish_plug(&plug);
		tick -= jiffies;
		preempt_enable();
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GT(test, b, a);
}

/* Whatever the stack holds where the plug comes to lie. */
static void start_begins_without_stamp(struct kunit *test)
{
	struct blk_plug plug;
	u64 before = 0, a = 0;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		preempt_disable();
		tick = jiffies;
		plug.stamp.epoch = blk_time_epoch(current);
		plug.stamp.ns = 1;
		before = ktime_get_ns();
		blk_start_plug(&plug);
		a = blk_time_get_ns();
		blk_finish_plug(&plug);
		tick -= jiffies;
		preempt_enable();
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GE(test, a, before);
}

struct flush_cb {
	struct blk_plug_cb cb;
	u64 *seen;
};

static void record_flush(struct blk_plug_cb *cb, bool from_schedule)
{
	struct flush_cb *fcb = container_of(cb, struct flush_cb, cb);

	*fcb->seen = time_after_spin(*fcb->seen);
	kfree(fcb);
}

/* Have the next flush of the current plug look at the time. */
static bool arm_flush(u64 *seen)
{
	struct blk_plug_cb *cb;

	cb = blk_check_plugged(record_flush, seen, sizeof(struct flush_cb));
	if (!cb)
		return false;
	container_of(cb, struct flush_cb, cb)->seen = seen;
	return true;
}

/*
 *	get   flush{ get }   get
 *	 a      during      after	a < during == after
 */
static void flush_start_ends_stamp(struct kunit *test)
{
	u64 a = 0, during = 0, after = 0;
	struct blk_plug plug;
	bool armed = false;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		armed = arm_flush(&during);
		tick = jiffies;
		a = blk_time_get_ns();
		during = a;
		blk_flush_plug(&plug, false);
		after = time_after_spin(during);
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_ASSERT_TRUE(test, armed);
	KUNIT_EXPECT_GT(test, during, a);
	KUNIT_EXPECT_EQ(test, after, during);
}

static void nested_plug_is_transparent(struct kunit *test)
{
	struct blk_plug plug, inner;
	u64 a = 0, b = 0, c = 0;
	bool outermost = false;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		a = blk_time_get_ns();
		blk_start_plug(&inner);
		b = time_after_spin(a);
		blk_finish_plug(&inner);
		c = blk_time_get_ns();
		outermost = current->plug == &plug;
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_TRUE(test, outermost);
	KUNIT_EXPECT_EQ(test, a, b);
	KUNIT_EXPECT_EQ(test, a, c);
}

/* 0 is a time like any other, and nobody gets it by accident. */
static void zero_is_a_time(struct kunit *test)
{
	u64 stamped = 1, unstamped = 0;
	struct blk_plug plug;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		blk_time_get_ns();
		plug.stamp.ns = 0;
		stamped = blk_time_get_ns();
		blk_plug_invalidate_time(&plug);
		unstamped = blk_time_get_ns();
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_EQ(test, stamped, 0);
	KUNIT_EXPECT_GT(test, unstamped, 0);
}

/* Ways to sleep; each returns with the plug of the caller still in place. */
static void sleep_plain(void)
{
	usleep_range(SHORT_US, SHORT_US + 1);
}

/* As io_schedule(), which flushes the plug first, but for less than a tick. */
static void sleep_io(void)
{
	ktime_t timeout = ns_to_ktime(SHORT_US * NSEC_PER_USEC);
	int token = io_schedule_prepare();

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&timeout, 0, HRTIMER_MODE_REL);
	io_schedule_finish(token);
}

static const struct sleep_case {
	const char *name;
	void (*sleep)(void);
} sleep_cases[] = {
	{ "usleep_range", sleep_plain },
	{ "io_schedule", sleep_io },
};

static void sleep_case_desc(const struct sleep_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sleep_case, sleep_cases, sleep_case_desc);

static void sleep_ends_stamp(struct kunit *test)
{
	const struct sleep_case *c = test->param_value;
	struct blk_plug plug;
	u64 a = 0, b = 0;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick, sleeps;

		blk_start_plug(&plug);
		tick = jiffies;
		sleeps = current->nvcsw;
		a = blk_time_get_ns();
		c->sleep();
		b = time_after_spin(a);
		sleeps -= current->nvcsw;
		tick -= jiffies;
		blk_finish_plug(&plug);
		if (!tick && sleeps)
			break;
	}
	if (try == MAX_TRIES)
		kunit_skip(test, "no sleep fits into a tick here");
	KUNIT_EXPECT_GT(test, b, a);
}

/* The flush on the way to sleep takes a stamp of its own. */
static void sleep_ends_stamp_of_its_flush(struct kunit *test)
{
	u64 a = 0, seen = 0, during = 0, after = 0;
	struct blk_plug plug;
	bool armed = false;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick, sleeps;

		blk_start_plug(&plug);
		armed = arm_flush(&seen);
		tick = jiffies;
		sleeps = current->nvcsw;
		a = blk_time_get_ns();
		seen = a;
		sleep_plain();
		during = seen;
		after = time_after_spin(during);
		sleeps -= current->nvcsw;
		tick -= jiffies;
		blk_finish_plug(&plug);
		if (!tick && sleeps)
			break;
	}
	KUNIT_ASSERT_TRUE(test, armed);
	if (try == MAX_TRIES)
		kunit_skip(test, "no sleep fits into a tick here");
	KUNIT_EXPECT_GT(test, during, a);
	KUNIT_EXPECT_GT(test, after, during);
}

/*
 * A thread on the CPU of the test, and how often it has run. It is bound, and
 * binds the test, so that its running means that the test has not.
 */
struct rival {
	struct task_struct *task;
	struct cpumask allowed;	/* the test's own, to be restored */
	unsigned long runs;
};

static int rival_yield_fn(void *data)
{
	struct rival *rival = data;

	while (!kthread_should_stop()) {
		WRITE_ONCE(rival->runs, rival->runs + 1);
		yield();
	}
	return 0;
}

static int rival_wakeup_fn(void *data)
{
	struct rival *rival = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
		WRITE_ONCE(rival->runs, rival->runs + 1);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void rival_start(struct kunit *test, struct rival *rival,
			int (*fn)(void *))
{
	int cpu = raw_smp_processor_id();

	rival->runs = 0;
	rival->task = kthread_create(fn, rival, "blk_time_rival");
	KUNIT_ASSERT_FALSE(test, IS_ERR(rival->task));
	kthread_bind(rival->task, cpu);
	sched_set_fifo(rival->task);

	cpumask_copy(&rival->allowed, current->cpus_ptr);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	wake_up_process(rival->task);
	usleep_range(1000, 2000);
}

static void rival_stop(struct rival *rival)
{
	kthread_stop(rival->task);
	set_cpus_allowed_ptr(current, &rival->allowed);
}

static void yield_ends_stamp(struct kunit *test)
{
	struct rival *rival = kunit_kzalloc(test, sizeof(*rival), GFP_KERNEL);
	struct blk_plug plug;
	u64 a = 0, b = 0;
	int try;

	KUNIT_ASSERT_NOT_NULL(test, rival);
	/* yield() goes round among tasks of one realtime priority */
	sched_set_fifo(current);
	rival_start(test, rival, rival_yield_fn);
	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick, runs;

		blk_start_plug(&plug);
		tick = jiffies;
		runs = READ_ONCE(rival->runs);
		a = blk_time_get_ns();
		yield();
		runs -= READ_ONCE(rival->runs);
		b = time_after_spin(a);
		tick -= jiffies;
		blk_finish_plug(&plug);
		if (!tick && runs)
			break;
	}
	rival_stop(rival);
	sched_set_normal(current, 0);
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GT(test, b, a);
}

/* Wake the rival out of the task itself: preempted in preempt_schedule(). */
static void wake_direct(struct rival *rival)
{
	wake_up_process(rival->task);
}

struct irq_wakeup {
	struct hrtimer timer;
	struct rival *rival;
};

static enum hrtimer_restart irq_wakeup_fn(struct hrtimer *timer)
{
	wake_up_process(container_of(timer, struct irq_wakeup, timer)->rival->task);
	return HRTIMER_NORESTART;
}

/* Out of an interrupt: preempted in preempt_schedule_irq(). */
static void wake_from_irq(struct rival *rival)
{
	unsigned long runs = READ_ONCE(rival->runs);
	struct irq_wakeup w = { .rival = rival };
	unsigned long end = jiffies + 2;

	hrtimer_init_on_stack(&w.timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	w.timer.function = irq_wakeup_fn;
	hrtimer_start(&w.timer, ns_to_ktime(SHORT_US * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
	while (READ_ONCE(rival->runs) == runs && time_before(jiffies, end))
		cpu_relax();
	hrtimer_cancel(&w.timer);
	destroy_hrtimer_on_stack(&w.timer);
}

static const struct preempt_case {
	const char *name;
	void (*wake)(struct rival *rival);
} preempt_cases[] = {
	{ "preempt_schedule", wake_direct },
	{ "preempt_schedule_irq", wake_from_irq },
};

static void preempt_case_desc(const struct preempt_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(preempt_case, preempt_cases, preempt_case_desc);

/* The task is preempted in the kernel, never calls schedule(), never flushes. */
static void preemption_ends_stamp(struct kunit *test)
{
	struct rival *rival = kunit_kzalloc(test, sizeof(*rival), GFP_KERNEL);
	const struct preempt_case *c = test->param_value;
	struct blk_plug plug;
	u64 a = 0, b = 0;
	int try;

	if (!IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "the kernel is not preemptible");

	KUNIT_ASSERT_NOT_NULL(test, rival);
	rival_start(test, rival, rival_wakeup_fn);
	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick, runs;

		blk_start_plug(&plug);
		tick = jiffies;
		runs = READ_ONCE(rival->runs);
		a = blk_time_get_ns();
		c->wake(rival);
		runs -= READ_ONCE(rival->runs);
		b = time_after_spin(a);
		tick -= jiffies;
		blk_finish_plug(&plug);
		if (!tick && runs)
			break;
	}
	rival_stop(rival);
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GT(test, b, a);
}

/* What an interrupt on top of the test saw. */
struct irq_probe {
	struct hrtimer timer;
	struct task_struct *task;	/* that it hit */
	u64 before;			/* the clock, then the getter */
	u64 seen;
	bool done;
};

static enum hrtimer_restart irq_probe_fn(struct hrtimer *timer)
{
	struct irq_probe *probe = container_of(timer, struct irq_probe, timer);

	probe->task = current;
	probe->before = ktime_get_ns();
	probe->seen = blk_time_get_ns();
	WRITE_ONCE(probe->done, true);
	return HRTIMER_NORESTART;
}

static const struct irq_case {
	const char *name;
	enum hrtimer_mode mode;
	bool stamped;
} irq_cases[] = {
	{ "hardirq, stamp taken", HRTIMER_MODE_REL_PINNED_HARD, true },
	{ "hardirq, no stamp yet", HRTIMER_MODE_REL_PINNED_HARD, false },
	{ "softirq, stamp taken", HRTIMER_MODE_REL_PINNED_SOFT, true },
	{ "softirq, no stamp yet", HRTIMER_MODE_REL_PINNED_SOFT, false },
};

static void irq_case_desc(const struct irq_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(irq_case, irq_cases, irq_case_desc);

static void irq_leaves_stamp_alone(struct kunit *test)
{
	const struct irq_case *c = test->param_value;
	bool stamped = false, hit = false;
	struct irq_probe probe = { };
	u64 a = 0, b = 0;
	int try;

	hrtimer_init_on_stack(&probe.timer, CLOCK_MONOTONIC, c->mode);
	probe.timer.function = irq_probe_fn;
	for (try = 0; try < MAX_TRIES; try++) {
		struct blk_plug plug;
		unsigned long tick;

		probe.done = false;
		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		if (c->stamped)
			a = blk_time_get_ns();
		hrtimer_start(&probe.timer,
			      ns_to_ktime(SHORT_US * NSEC_PER_USEC), c->mode);
		while (!READ_ONCE(probe.done) && jiffies - tick < 2)
			cpu_relax();
		stamped = plug.stamp.epoch == blk_time_epoch(current);
		b = blk_time_get_ns();
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		hrtimer_cancel(&probe.timer);
		hit = probe.done && probe.task == current;
		if (hit && !tick)
			break;
	}
	destroy_hrtimer_on_stack(&probe.timer);

	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GE(test, probe.seen, probe.before);
	KUNIT_EXPECT_EQ(test, stamped, c->stamped);
	if (c->stamped)
		KUNIT_EXPECT_EQ(test, b, a);
	else
		KUNIT_EXPECT_GE(test, b, probe.seen);
}

/* What a batch of completions saw, one after the other, as the clock ran on. */
struct batch_seen {
	struct hrtimer timer;
	u64 before;	/* the clock */
	u64 first;
	u64 second;
	u64 since;	/* for what began after the second */
	u64 inner;	/* in a batch inside of this one */
	u64 outer;	/* and after it */
	u64 outside;	/* after the end of all */
	unsigned long ticks;
	bool done;
};

static u64 done_after_spin(u64 then, u64 since)
{
	while (ktime_get_ns() == then)
		cpu_relax();
	return blk_time_done_ns(since);
}

static void batch_run(struct batch_seen *seen)
{
	struct blk_time_batch batch, inner;
	unsigned long tick = jiffies;

	seen->before = ktime_get_ns();
	blk_time_batch_begin(&batch);
	seen->first = blk_time_done_ns(0);
	seen->second = done_after_spin(seen->first, 0);
	seen->since = done_after_spin(seen->second, seen->second);
	blk_time_batch_begin(&inner);
	seen->inner = done_after_spin(seen->since, 0);
	blk_time_batch_end(&inner);
	seen->outer = done_after_spin(seen->inner, 0);
	blk_time_batch_end(&batch);
	seen->outside = done_after_spin(seen->inner, 0);
	seen->ticks = jiffies - tick;
	WRITE_ONCE(seen->done, true);
}

static enum hrtimer_restart batch_irq_fn(struct hrtimer *timer)
{
	batch_run(container_of(timer, struct batch_seen, timer));
	return HRTIMER_NORESTART;
}

static void batch_from_timer(struct batch_seen *seen, enum hrtimer_mode mode)
{
	unsigned long end = jiffies + 2;

	hrtimer_init_on_stack(&seen->timer, CLOCK_MONOTONIC, mode);
	seen->timer.function = batch_irq_fn;
	hrtimer_start(&seen->timer, ns_to_ktime(SHORT_US * NSEC_PER_USEC), mode);
	while (!READ_ONCE(seen->done) && time_before(jiffies, end))
		cpu_relax();
	hrtimer_cancel(&seen->timer);
	destroy_hrtimer_on_stack(&seen->timer);
}

static void batch_in_hardirq(struct batch_seen *seen)
{
	batch_from_timer(seen, HRTIMER_MODE_REL_PINNED_HARD);
}

static void batch_in_softirq(struct batch_seen *seen)
{
	batch_from_timer(seen, HRTIMER_MODE_REL_PINNED_SOFT);
}

static void batch_in_task(struct batch_seen *seen)
{
	preempt_disable();
	batch_run(seen);
	preempt_enable();
}

/* The issue stamp must not show up as the time of a completion. */
static void batch_in_plug(struct batch_seen *seen)
{
	struct blk_plug plug;

	blk_start_plug(&plug);
	preempt_disable();
	time_after_spin(blk_time_get_ns());
	batch_run(seen);
	preempt_enable();
	blk_finish_plug(&plug);
}

static const struct batch_case {
	const char *name;
	void (*run)(struct batch_seen *seen);
	bool shared;
} batch_cases[] = {
	{ "hardirq", batch_in_hardirq, true },
	{ "softirq", batch_in_softirq, true },
	{ "task with plug", batch_in_plug, true },
	{ "task without plug", batch_in_task, false },
};

static void batch_case_desc(const struct batch_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(batch_case, batch_cases, batch_case_desc);

static void batch_shares_stamp(struct kunit *test)
{
	const struct batch_case *c = test->param_value;
	struct batch_seen seen;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		memset(&seen, 0, sizeof(seen));
		c->run(&seen);
		if (seen.done && !seen.ticks)
			break;
	}
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GE(test, seen.first, seen.before);
	if (c->shared) {
		KUNIT_EXPECT_EQ(test, seen.second, seen.first);
		KUNIT_EXPECT_EQ(test, seen.outer, seen.since);
	} else {
		KUNIT_EXPECT_GT(test, seen.second, seen.first);
		KUNIT_EXPECT_GT(test, seen.outer, seen.inner);
	}
	KUNIT_EXPECT_GT(test, seen.since, seen.second);
	KUNIT_EXPECT_GT(test, seen.inner, seen.since);
	KUNIT_EXPECT_GT(test, seen.outside, seen.inner);
}

/* An interrupt on top of a batch, and what it saw. */
struct batch_irq {
	struct hrtimer timer;
	bool batched;	/* it has one of its own */
	u64 before;	/* the clock, then the getter */
	u64 seen;
	bool done;
};

static enum hrtimer_restart batch_on_top_fn(struct hrtimer *timer)
{
	struct batch_irq *irq = container_of(timer, struct batch_irq, timer);
	struct blk_time_batch batch;

	irq->before = ktime_get_ns();
	if (irq->batched)
		blk_time_batch_begin(&batch);
	irq->seen = blk_time_done_ns(0);
	if (irq->batched)
		blk_time_batch_end(&batch);
	WRITE_ONCE(irq->done, true);
	return HRTIMER_NORESTART;
}

static const struct batch_irq_case {
	const char *name;
	bool batched;
} batch_irq_cases[] = {
	{ "with a batch", true },
	{ "without a batch", false },
};

static void batch_irq_case_desc(const struct batch_irq_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(batch_irq_case, batch_irq_cases, batch_irq_case_desc);

/* A batch that the hardirq hits between its first and its last completion. */
static void batch_be_hit(struct batch_irq *irq, u64 *first, u64 *last)
{
	struct blk_time_batch batch;
	/* by the clock: jiffies stand still where no interrupt comes */
	u64 end = ktime_get_ns() + 2 * TICK_NSEC;

	blk_time_batch_begin(&batch);
	*first = blk_time_done_ns(0);
	hrtimer_start(&irq->timer, ns_to_ktime(SHORT_US * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
	while (!READ_ONCE(irq->done) && ktime_get_ns() < end)
		cpu_relax();
	*last = blk_time_done_ns(0);
	blk_time_batch_end(&batch);
}

static void irq_leaves_batch_alone(struct kunit *test)
{
	const struct batch_irq_case *c = test->param_value;
	struct batch_irq irq = { .batched = c->batched };
	u64 a = 0, b = 0;
	int try;

	hrtimer_init_on_stack(&irq.timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	irq.timer.function = batch_on_top_fn;
	for (try = 0; try < MAX_TRIES; try++) {
		struct blk_plug plug;
		unsigned long tick;

		irq.done = false;
		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		batch_be_hit(&irq, &a, &b);
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		hrtimer_cancel(&irq.timer);
		if (irq.done && !tick)
			break;
	}
	destroy_hrtimer_on_stack(&irq.timer);

	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GE(test, irq.seen, irq.before);
	KUNIT_EXPECT_EQ(test, b, a);
}

struct child_report {
	struct completion done;
	struct blk_plug *plug;
	u64 before;
	u64 seen;
};

static int child_fn(void *data)
{
	struct child_report *report = data;

	report->plug = current->plug;
	report->before = ktime_get_ns();
	report->seen = blk_time_get_ns();
	kthread_complete_and_exit(&report->done, 0);
}

struct batch_softirq {
	struct hrtimer timer;
	struct batch_irq irq;
	u64 first;
	u64 last;
	unsigned long ticks;
	bool done;
};

static enum hrtimer_restart batch_be_hit_fn(struct hrtimer *timer)
{
	struct batch_softirq *soft = container_of(timer, struct batch_softirq,
						  timer);
	unsigned long tick = jiffies;

	batch_be_hit(&soft->irq, &soft->first, &soft->last);
	soft->ticks = jiffies - tick;
	WRITE_ONCE(soft->done, true);
	return HRTIMER_NORESTART;
}

/* The same for a batch of a softirq. */
static void irq_leaves_softirq_batch_alone(struct kunit *test)
{
	const struct batch_irq_case *c = test->param_value;
	struct batch_softirq soft = { .irq.batched = c->batched };
	int try;

	if (IS_ENABLED(CONFIG_UML))
		kunit_skip(test, "no interrupt hits a softirq here");

	hrtimer_init_on_stack(&soft.irq.timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	soft.irq.timer.function = batch_on_top_fn;
	hrtimer_init_on_stack(&soft.timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_SOFT);
	soft.timer.function = batch_be_hit_fn;
	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long end = jiffies + 4;

		soft.irq.done = false;
		soft.done = false;
		hrtimer_start(&soft.timer, ns_to_ktime(SHORT_US * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_SOFT);
		while (!READ_ONCE(soft.done) && time_before(jiffies, end))
			cpu_relax();
		hrtimer_cancel(&soft.timer);
		hrtimer_cancel(&soft.irq.timer);
		if (soft.done && soft.irq.done && !soft.ticks)
			break;
	}
	destroy_hrtimer_on_stack(&soft.timer);
	destroy_hrtimer_on_stack(&soft.irq.timer);

	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GE(test, soft.irq.seen, soft.irq.before);
	KUNIT_EXPECT_EQ(test, soft.last, soft.first);
}

static void fork_inherits_nothing(struct kunit *test)
{
	struct child_report report = { };
	struct blk_plug plug;
	pid_t pid;
	u64 a;

	init_completion(&report.done);
	blk_start_plug(&plug);
	a = blk_time_get_ns();
	pid = kernel_thread(child_fn, &report, CLONE_FS | CLONE_FILES | SIGCHLD);
	blk_finish_plug(&plug);

	KUNIT_ASSERT_GT(test, pid, 0);
	wait_for_completion(&report.done);
	KUNIT_EXPECT_PTR_EQ(test, report.plug, (struct blk_plug *)NULL);
	KUNIT_EXPECT_GE(test, report.seen, report.before);
	KUNIT_EXPECT_GT(test, report.seen, a);
}

/* A queue without a disk, whose requests complete where they are issued. */
struct test_queue {
	struct blk_mq_tag_set set;
	struct request_queue *q;
	u64 issued;		/* issue time of the last one */
	u64 first_done;		/* completion time of the first one, and ... */
	u64 last_done;		/* ... of the last, the clock moved on */
};

static blk_status_t test_queue_rq(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct test_queue *tq = hctx->queue->queuedata;

	tq->issued = blk_time_get_ns();
	tq->last_done = done_after_spin(tq->last_done ?: tq->issued, 0);
	if (!tq->first_done)
		tq->first_done = tq->last_done;
	blk_mq_start_request(bd->rq);
	blk_mq_end_request(bd->rq, BLK_STS_OK);
	return BLK_STS_OK;
}

static const struct blk_mq_ops test_mq_ops = {
	.queue_rq	= test_queue_rq,
};

static struct test_queue *test_queue_create(struct kunit *test)
{
	struct test_queue *tq = kunit_kzalloc(test, sizeof(*tq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tq);
	tq->set.ops = &test_mq_ops;
	tq->set.nr_hw_queues = 1;
	tq->set.queue_depth = QUEUE_DEPTH;
	tq->set.numa_node = NUMA_NO_NODE;
	KUNIT_ASSERT_EQ(test, blk_mq_alloc_tag_set(&tq->set), 0);
	tq->q = blk_mq_init_queue(&tq->set);
	if (IS_ERR(tq->q))
		blk_mq_free_tag_set(&tq->set);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tq->q));
	tq->q->queuedata = tq;
	return tq;
}

static void test_queue_destroy(struct test_queue *tq)
{
	blk_mq_destroy_queue(tq->q);
	blk_put_queue(tq->q);
	blk_mq_free_tag_set(&tq->set);
}

/* Plug @nr requests; return how many of them could be had. */
static unsigned int plug_requests(struct request_queue *q, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct request *rq;

		rq = blk_mq_alloc_request(q, REQ_OP_DRV_IN, BLK_MQ_REQ_NOWAIT);
		if (IS_ERR(rq))
			break;
		blk_execute_rq_nowait(rq, false);
	}
	return i;
}

/* One request more than a plug holds has the list flushed, and nothing else. */
static void full_plug_ends_stamp(struct kunit *test)
{
	struct test_queue *tq = test_queue_create(test);
	unsigned int plugged = 0;
	struct blk_plug plug;
	bool early = false;
	u64 a = 0, b = 0;
	int try;

	/* accounting needs a disk */
	blk_queue_flag_clear(QUEUE_FLAG_IO_STAT, tq->q);
	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		tq->issued = 0;
		plugged = plug_requests(tq->q, BLK_MAX_REQUEST_COUNT);
		early = tq->issued;
		a = blk_time_get_ns();
		while (ktime_get_ns() == a)
			cpu_relax();
		plugged += plug_requests(tq->q, 1);
		b = tq->issued;
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	test_queue_destroy(tq);
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_ASSERT_EQ(test, plugged, BLK_MAX_REQUEST_COUNT + 1);
	KUNIT_EXPECT_FALSE(test, early);
	KUNIT_EXPECT_GT(test, b, a);
}

/* A stamp dates so many requests of a plug, and the next ones get another. */
static void requests_end_stamp(struct kunit *test)
{
	struct test_queue *tq = test_queue_create(test);
	unsigned int plugged = 0;
	struct blk_plug plug;
	u64 a = 0, b = 0, c = 0;
	int try;

	for (try = 0; try < MAX_TRIES; try++) {
		unsigned long tick;

		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		a = blk_time_get_ns();
		plugged = plug_requests(tq->q, BLK_STAMP_MAX_RQS - 1);
		b = time_after_spin(a);
		plugged += plug_requests(tq->q, 1);
		c = time_after_spin(b);
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	test_queue_destroy(tq);
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_ASSERT_EQ(test, plugged, BLK_STAMP_MAX_RQS);
	KUNIT_EXPECT_EQ(test, b, a);
	KUNIT_EXPECT_GT(test, c, b);
}

/*
 * Requests that complete inline in the flush of their plug share a stamp: not
 * that of their issue, which would be no latency at all.
 */
static void inline_completions_share_stamp(struct kunit *test)
{
	struct test_queue *tq = test_queue_create(test);
	u64 issue = 0, after = 0;
	int try;

	/* accounting needs a disk */
	blk_queue_flag_clear(QUEUE_FLAG_IO_STAT, tq->q);
	for (try = 0; try < MAX_TRIES; try++) {
		struct blk_plug plug;
		unsigned long tick;

		tq->first_done = 0;
		tq->last_done = 0;
		blk_start_plug(&plug);
		preempt_disable();
		tick = jiffies;
		plug_requests(tq->q, NR_CACHED);
		issue = blk_time_get_ns();
		blk_flush_plug(&plug, false);
		after = done_after_spin(tq->last_done, 0);
		tick -= jiffies;
		preempt_enable();
		blk_finish_plug(&plug);
		if (!tick)
			break;
	}
	test_queue_destroy(tq);
	KUNIT_ASSERT_LT(test, try, (int)MAX_TRIES);
	KUNIT_EXPECT_GT(test, tq->first_done, issue);
	KUNIT_EXPECT_GT(test, tq->first_done, tq->issued);
	KUNIT_EXPECT_EQ(test, tq->last_done, tq->first_done);
	KUNIT_EXPECT_GT(test, after, tq->last_done);
}

/* By the clock: delays are not calibrated on every machine. */
static void spin_long(void)
{
	u64 end = ktime_get_ns() + LONG_MS * NSEC_PER_MSEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

/*
 * Allocate two requests of one plug, LONG_MS apart. The plug expects
 * NR_CACHED, so the second one was allocated along with the first.
 */
static void cached_request_dates(struct request_queue *q, struct request *rq[2],
				 bool *cached, u64 *between)
{
	struct blk_plug plug;

	blk_start_plug_nr_ios(&plug, NR_CACHED);
	rq[0] = blk_mq_alloc_request(q, REQ_OP_DRV_IN, 0);
	spin_long();
	*cached = plug.cached_rq;
	*between = ktime_get_ns() - TICK_NSEC;
	rq[1] = blk_mq_alloc_request(q, REQ_OP_DRV_IN, 0);
	blk_finish_plug(&plug);
}

static void cached_request_is_dated_when_used(struct kunit *test)
{
	struct test_queue *tq = test_queue_create(test);
	struct request *rq[2];
	bool cached;
	u64 between;
	int i;

	blk_queue_flag_set(QUEUE_FLAG_IO_STAT, tq->q);
#ifdef CONFIG_BLK_RQ_ALLOC_TIME
	blk_queue_flag_set(QUEUE_FLAG_RQ_ALLOC_TIME, tq->q);
#endif

	cached_request_dates(tq->q, rq, &cached, &between);
	KUNIT_EXPECT_TRUE(test, cached);
	KUNIT_EXPECT_LT(test, rq[0]->start_time_ns, between);
	KUNIT_EXPECT_GE(test, rq[1]->start_time_ns, between);
#ifdef CONFIG_BLK_RQ_ALLOC_TIME
	KUNIT_EXPECT_LT(test, rq[0]->alloc_time_ns, between);
	KUNIT_EXPECT_GE(test, rq[1]->alloc_time_ns, between);
	KUNIT_EXPECT_LE(test, rq[1]->alloc_time_ns, rq[1]->start_time_ns);
#endif

	for (i = 0; i < 2; i++)
		blk_mq_free_request(rq[i]);
	test_queue_destroy(tq);
}

static const struct elapsed_case {
	u64 now;
	u64 then;
	u64 elapsed;
} elapsed_cases[] = {
	{ 0, 0, 0 },
	{ 1, 0, 1 },
	{ 0, 1, 0 },
	{ 5, 5, 0 },
	{ 5, 4, 1 },
	{ 4, 5, 0 },
	{ U64_MAX, U64_MAX, 0 },
	{ U64_MAX, U64_MAX - 1, 1 },
	{ U64_MAX - 1, U64_MAX, 0 },
	/* across the wrap */
	{ 0, U64_MAX, 1 },
	{ 9, U64_MAX, 10 },
	{ U64_MAX, 0, 0 },
	{ U64_MAX, 9, 0 },
	/* half the range is the limit of what can be ordered */
	{ S64_MAX, 0, S64_MAX },
};

static void elapsed_case_desc(const struct elapsed_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from %llx to %llx", c->then,
		 c->now);
}

KUNIT_ARRAY_PARAM(elapsed_case, elapsed_cases, elapsed_case_desc);

static void elapsed_never_negative(struct kunit *test)
{
	const struct elapsed_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, blk_time_elapsed(c->now, c->then), c->elapsed);
}

static int stat_bucket(const struct request *rq)
{
	return 0;
}

static void stat_timer(struct blk_stat_callback *cb)
{
}

/* A sample of latency, as wbt decides by, of a request that "now" lies behind. */
static void stat_sample_never_wraps(struct kunit *test)
{
	const struct elapsed_case *c = test->param_value;
	struct test_queue *tq = test_queue_create(test);
	struct request *rq = kunit_kzalloc(test, sizeof(*rq), GFP_KERNEL);
	struct blk_stat_callback *cb;
	u64 nr = 0, sum = 0;
	int cpu;

	cb = blk_stat_alloc_callback(stat_timer, stat_bucket, 1, NULL);
	if (cb && rq) {
		blk_stat_add_callback(tq->q, cb);
		blk_stat_activate_msecs(cb, 60 * MSEC_PER_SEC);
		rq->q = tq->q;
		rq->io_start_time_ns = c->then;
		blk_stat_add(rq, c->now);
		blk_stat_remove_callback(tq->q, cb);
		for_each_online_cpu(cpu) {
			nr += per_cpu_ptr(cb->cpu_stat, cpu)[0].nr_samples;
			sum += per_cpu_ptr(cb->cpu_stat, cpu)[0].batch;
		}
		blk_stat_free_callback(cb);
	}
	test_queue_destroy(tq);
	KUNIT_EXPECT_EQ(test, nr, 1);
	KUNIT_EXPECT_EQ(test, sum, c->elapsed);
}

#ifdef CONFIG_BLK_CGROUP
/* The issue time of a bio has 51 bits, which wrap every 26 days. */
#define BIO_TIME(ns)	((ns) & BIO_ISSUE_TIME_MASK)

static const struct bio_elapsed_case {
	u64 issue;
	u64 now;
	u64 elapsed;
} bio_elapsed_cases[] = {
	{ 0, 0, 0 },
	{ 1, 0, 0 },
	{ 0, 1, 1 },
	{ 1000, 999, 0 },
	{ BIO_TIME(U64_MAX), BIO_ISSUE_TIME_MASK, 0 },
	{ BIO_TIME(U64_MAX), BIO_ISSUE_TIME_MASK - 1, 0 },
	{ BIO_TIME(U64_MAX), BIO_ISSUE_TIME_MASK + 1, 1 },
	{ BIO_TIME(U64_MAX - 9), 0, 10 },
	{ 0, U64_MAX, 0 },
	{ BIO_TIME(U64_MAX - 1), U64_MAX, 1 },
};

static void bio_elapsed_desc(const struct bio_elapsed_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from %llx to %llx", c->issue,
		 c->now);
}

KUNIT_ARRAY_PARAM(bio_elapsed, bio_elapsed_cases, bio_elapsed_desc);

/* What iolatency's windows are filled with. */
static void bio_elapsed_never_wraps(struct kunit *test)
{
	const struct bio_elapsed_case *c = test->param_value;
	struct bio bio = { .bi_issue.value = c->issue };

	/* the size of the bio shares the field */
	KUNIT_EXPECT_EQ(test, blkcg_bio_elapsed(&bio, c->now), c->elapsed);
	bio.bi_issue.value |= 8ULL << BIO_ISSUE_SIZE_SHIFT;
	KUNIT_EXPECT_EQ(test, blkcg_bio_elapsed(&bio, c->now), c->elapsed);
}
#endif /* CONFIG_BLK_CGROUP */

static struct kunit_case blk_time_cases[] = {
	KUNIT_CASE(plug_same_stamp),
	KUNIT_CASE(no_plug_is_fresh),
	KUNIT_CASE(submission_shares_stamp),
	KUNIT_CASE(never_ahead_of_clock),
	KUNIT_CASE(tick_ends_stamp),
	KUNIT_CASE(finish_ends_stamp),
	KUNIT_CASE(start_begins_without_stamp),
	KUNIT_CASE(flush_start_ends_stamp),
	KUNIT_CASE(full_plug_ends_stamp),
	KUNIT_CASE(nested_plug_is_transparent),
	KUNIT_CASE(zero_is_a_time),
	KUNIT_CASE_PARAM(sleep_ends_stamp, sleep_case_gen_params),
	KUNIT_CASE(sleep_ends_stamp_of_its_flush),
	KUNIT_CASE(yield_ends_stamp),
	KUNIT_CASE_PARAM(preemption_ends_stamp, preempt_case_gen_params),
	KUNIT_CASE_PARAM(irq_leaves_stamp_alone, irq_case_gen_params),
	KUNIT_CASE_PARAM(batch_shares_stamp, batch_case_gen_params),
	KUNIT_CASE_PARAM(irq_leaves_batch_alone, batch_irq_case_gen_params),
	KUNIT_CASE_PARAM(irq_leaves_softirq_batch_alone,
			 batch_irq_case_gen_params),
	KUNIT_CASE(requests_end_stamp),
	KUNIT_CASE(inline_completions_share_stamp),
	KUNIT_CASE(fork_inherits_nothing),
	KUNIT_CASE(cached_request_is_dated_when_used),
	KUNIT_CASE_PARAM(elapsed_never_negative, elapsed_case_gen_params),
	KUNIT_CASE_PARAM(stat_sample_never_wraps, elapsed_case_gen_params),
#ifdef CONFIG_BLK_CGROUP
	KUNIT_CASE_PARAM(bio_elapsed_never_wraps, bio_elapsed_gen_params),
#endif
	{ }
};

static struct kunit_suite blk_time_suite = {
	.name = "blk-time",
	.test_cases = blk_time_cases,
};

kunit_test_suite(blk_time_suite);

MODULE_LICENSE("GPL");
