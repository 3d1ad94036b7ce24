/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BLK_TIME_H
#define BLK_TIME_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/container_of.h>
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
static inline unsigned long blk_time_epoch(struct task_struct *tsk)
{
	return jiffies + READ_ONCE(tsk->nvcsw) + READ_ONCE(tsk->nivcsw);
}

/* A stamp that is good for nothing: no epoch ever comes again. */
static inline void blk_time_stamp_init(struct blk_time_stamp *stamp)
{
	stamp->epoch = blk_time_epoch(current) - 1;
}

/* What @stamp says, or the clock if it is good for nothing any more. */
static inline u64 blk_time_stamp_ns(struct task_struct *tsk,
				    struct blk_time_stamp *stamp)
{
	/*
	 * The epoch is read before the clock: where the task is switched in
	 * between, the stamp is born dead. The caller gets the local copy.
	 */
	unsigned long epoch = blk_time_epoch(tsk);
	u64 now;

	if (likely(stamp->epoch == epoch))
		return stamp->ns;

	now = ktime_get_ns();
	stamp->ns = now;
	stamp->epoch = epoch;
	return now;
}

/**
 * blk_plug_invalidate_time - drop the issue stamp of a plug
 * @plug: the plug of the current task
 *
 * Context: Task context, by the owner of @plug.
 */
static inline void blk_plug_invalidate_time(struct blk_plug *plug)
{
	blk_time_stamp_init(&plug->stamp);
}

/**
 * struct blk_submission - what a task needs while it submits a bio
 * @bio_list: what current->bio_list points to: bios submitted on the way
 * @stamp: issue stamp of the one that is being submitted, if there is no plug
 */
struct blk_submission {
	struct bio_list bio_list[2];
	struct blk_time_stamp stamp;
};

/* Where the current task, not an interrupt on top of it, keeps its issue stamp. */
static inline struct blk_time_stamp *blk_time_issue_stamp(struct task_struct *tsk)
{
	struct bio_list *bio_list;

	if (likely(tsk->plug))
		return &tsk->plug->stamp;

	bio_list = tsk->bio_list;
	if (!bio_list)
		return NULL;
	return &container_of(bio_list, struct blk_submission, bio_list[0])->stamp;
}

/**
 * blk_time_get_ns - issue-side time
 *
 * Answers from the stamp in the plug of the current task. The stamp is taken
 * by the first query, and dies when the task leaves its CPU for whatever
 * reason, with the tick, and when a flush of the plug starts. So the answer is
 * never ahead of the clock, but may be up to a tick behind it, and with that
 * behind a time that somebody else has stored: see blk_time_elapsed().
 * Without a plug, one stamp serves the submission of one bio.
 *
 * It is for what happens to a request on its way to the driver. Completions
 * have blk_time_done_ns(), timers read the clock: "in task context" does not
 * mean "on the issue side".
 *
 * Context: Any context. In an interrupt (which may have hit a task that plugs),
 * and in a task that neither plugs nor submits, this is ktime_get_ns().
 * Return: CLOCK_MONOTONIC in ns.
 */
static inline u64 blk_time_get_ns(void)
{
	struct task_struct *tsk = current;
	struct blk_time_stamp *stamp;

	if (!in_task())
		return ktime_get_ns();
	stamp = blk_time_issue_stamp(tsk);
	return stamp ? blk_time_stamp_ns(tsk, stamp) : ktime_get_ns();
}

/**
 * struct blk_time_batch - completions that share a stamp
 * @slot: where the context that began it looks for it
 * @outer: the batch that it is nested in
 * @stamp: the reading that they share
 *
 * Private to blk-time.c; the caller of blk_time_batch_begin() has the room.
 */
struct blk_time_batch {
	struct blk_time_batch **slot;
	struct blk_time_batch *outer;
	struct blk_time_stamp stamp;
};

void blk_time_batch_begin(struct blk_time_batch *batch);
void blk_time_batch_end(struct blk_time_batch *batch);
u64 blk_time_done_ns(u64 since);

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
