// SPDX-License-Identifier: GPL-2.0
/*
 * Completion-side time, one reading of the clock for a batch of completions.
 * See Documentation/block/blk-time.rst.
 */
#include <linux/blk-time.h>
#include <linux/export.h>
#include <linux/percpu.h>

/* Batches of interrupt context. A hardirq may hit a softirq's, not another. */
static DEFINE_PER_CPU(struct blk_time_batch *, blk_time_hardirq_batch);
static DEFINE_PER_CPU(struct blk_time_batch *, blk_time_softirq_batch);

/*
 * Where the batch of the current context is found, NULL where it can have none.
 * A softirq stays on its CPU, and keeps other softirqs from it, on PREEMPT_RT
 * too, where tasks may preempt it. A task has its plug to itself.
 */
static __always_inline struct blk_time_batch **blk_time_batch_slot(void)
{
	if (in_task())
		return current->plug ? &current->plug->batch : NULL;
	if (in_hardirq())
		return this_cpu_ptr(&blk_time_hardirq_batch);
	return this_cpu_ptr(&blk_time_softirq_batch);
}

/**
 * blk_time_batch_begin - completions from here on share a stamp
 * @batch: to be passed to blk_time_batch_end(), usually on the stack
 *
 * For a loop that completes what a device has finished, where one reading of
 * the clock is as true for the last as for the first. Batches may be nested.
 *
 * Context: Any context but NMI. In a task without a plug, threaded interrupt
 * handlers included, this has no effect.
 */
void blk_time_batch_begin(struct blk_time_batch *batch)
{
	blk_time_stamp_init(&batch->stamp);
	batch->slot = blk_time_batch_slot();
	if (batch->slot) {
		batch->outer = *batch->slot;
		*batch->slot = batch;
	}
}
EXPORT_SYMBOL_GPL(blk_time_batch_begin);

/**
 * blk_time_batch_end - the stamp of a batch of completions dies
 * @batch: from blk_time_batch_begin()
 *
 * Context: The same as that of blk_time_batch_begin().
 */
void blk_time_batch_end(struct blk_time_batch *batch)
{
	if (batch->slot)
		*batch->slot = batch->outer;
}
EXPORT_SYMBOL_GPL(blk_time_batch_end);

/**
 * blk_time_done_ns - completion-side time
 * @since: when what completes now was begun, CLOCK_MONOTONIC in ns, or 0
 *
 * Answers from the stamp of the batch of completions that is under way in this
 * context, which the first query takes. What was begun after that, by another
 * CPU for example, cannot have been completed before: then a new one is taken.
 * The stamp also dies with the tick, and when its task leaves the CPU.
 *
 * Context: Any context but NMI. Without a batch this is ktime_get_ns().
 * Return: CLOCK_MONOTONIC in ns, not ahead of the clock, after @since unless
 * that is not behind the clock.
 */
u64 blk_time_done_ns(u64 since)
{
	struct blk_time_batch **slot = blk_time_batch_slot();
	struct blk_time_batch *batch = slot ? *slot : NULL;
	unsigned long epoch;
	u64 now;

	if (!batch)
		return ktime_get_ns();

	/* before the clock, see blk_time_get_ns() */
	epoch = blk_time_epoch(current);
	if (batch->stamp.epoch == epoch && time_after64(batch->stamp.ns, since))
		return batch->stamp.ns;

	now = ktime_get_ns();
	batch->stamp.ns = now;
	batch->stamp.epoch = epoch;
	return now;
}
EXPORT_SYMBOL_GPL(blk_time_done_ns);
