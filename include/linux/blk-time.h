/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BLK_TIME_H
#define BLK_TIME_H

#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>

/**
 * blk_time_elapsed - time between two readings, never negative
 * @now: the later reading of the clock, ns or us
 * @then: the earlier reading, in the unit of @now
 *
 * An issue stamp may lie behind a time that another CPU, an interrupt or a
 * completion has stored meanwhile. Nothing has elapsed then.
 *
 * Context: Any context.
 * Return: @now - @then, or 0 where @then is ahead of @now.
 */
static inline u64 blk_time_elapsed(u64 now, u64 then)
{
	return time_after64(now, then) ? now - then : 0;
}

#ifdef CONFIG_BLOCK

/*
 * What a stamp is good for: this tick, and this stay of the task on its CPU.
 * __schedule() counts each switch away from a task, preemption included, in
 * one of these two counters. None of the three ever decreases, so their sum
 * stays the same exactly as long as none of them moves, and a stamp needs
 * neither a hook in the scheduler nor one in fork.
 */
static inline unsigned long blk_time_epoch(void)
{
	return jiffies + READ_ONCE(current->nvcsw) + READ_ONCE(current->nivcsw);
}

/**
 * blk_plug_invalidate_time - drop the issue stamp of a plug
 * @plug: the plug of the current task
 *
 * Context: Task context, by the owner of @plug.
 */
static inline void blk_plug_invalidate_time(struct blk_plug *plug)
{
	plug->has_time = false;
}

/**
 * blk_time_get_ns - issue-side time
 *
 * Answers from the stamp in the plug of the current task. The stamp is taken
 * by the first query, and dies when the task leaves its CPU for whatever
 * reason, with the tick, and when a flush of the plug starts. So the answer is
 * never ahead of the clock, but may be up to a tick behind it, and with that
 * behind a time that somebody else has stored: see blk_time_elapsed().
 *
 * It is for what happens to a request on its way to the driver. Completions
 * and timers read the clock, ktime_get_ns(): "in task context" does not mean
 * "on the issue side".
 *
 * Context: Any context. Without a plug, and in an interrupt (which may have
 * hit a task that plugs), this is ktime_get_ns().
 * Return: CLOCK_MONOTONIC in ns.
 */
static inline u64 blk_time_get_ns(void)
{
	struct blk_plug *plug = current->plug;
	unsigned long epoch;
	u64 now;

	if (!plug || !in_task())
		return ktime_get_ns();

	/*
	 * The epoch is read before the clock: where the task is switched in
	 * between, the stamp is born dead. The caller gets the local copy.
	 */
	epoch = blk_time_epoch();
	if (plug->has_time && plug->time_epoch == epoch)
		return plug->time_ns;

	now = ktime_get_ns();
	plug->time_ns = now;
	plug->time_epoch = epoch;
	plug->has_time = true;
	return now;
}

#else /* !CONFIG_BLOCK */

static inline u64 blk_time_get_ns(void)
{
	return ktime_get_ns();
}

#endif /* CONFIG_BLOCK */

/**
 * blk_time_get - issue-side time as ktime_t
 *
 * Context: Any context, see blk_time_get_ns().
 * Return: CLOCK_MONOTONIC.
 */
static inline ktime_t blk_time_get(void)
{
	return ns_to_ktime(blk_time_get_ns());
}

#endif /* BLK_TIME_H */
