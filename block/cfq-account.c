// SPDX-License-Identifier: GPL-2.0
/*
 * CFQ for blk-mq: how long slices are, what is charged for them, what share of
 * the device a group has, and how long somebody thinks.
 *
 * Nothing here sleeps, takes a lock or reads a clock, so all of it can be tested
 * with made-up times: see cfq-account-test.c.
 */
#include <linux/blk-time.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "cfq-iosched.h"

/* The level that gets the base slice, and what a level more or less is of it */
#define CFQ_BASE_LEVEL		4
#define CFQ_LEVEL_FRACTION	5

/* Costs are less than this, so that time_after64() orders what they add up to */
#define CFQ_COST_SHIFT		62

/* Shares are multiplied with more bits than cfq_group_share() returns */
#define CFQ_SHARE_FINE_SHIFT	40

/**
 * cfq_level_slice - the slice for a level of I/O priority
 * @base: slice at the middle level, ns
 * @level: level, 0 is the highest; one that does not exist is the lowest
 *
 * Context: Any, pure.
 * Return: from 1.8 @base at level 0 down to 0.4 @base at level 7, ns.
 */
u64 cfq_level_slice(u64 base, unsigned int level)
{
	u64 step = div64_u64(base, CFQ_LEVEL_FRACTION);

	level = min_t(unsigned int, level, IOPRIO_NR_LEVELS - 1);
	if (level > CFQ_BASE_LEVEL)
		return base - step * (level - CFQ_BASE_LEVEL);
	return base + step * (CFQ_BASE_LEVEL - level);
}

/**
 * cfq_adapt_slice - shorten a slice so that many queues keep the latency low
 * @slice: slice of the queue by its level, ns
 * @base_sync: slice of a sync queue at the middle level, ns
 * @floor: shortest slice of a sync queue at the middle level, ns
 * @group_slice: all busy queues of the group are to be served within, ns
 * @busy: how many these are
 *
 * Context: Any, pure.
 * Return: slice, ns: at most @slice, and 0 only where that is 0.
 */
u64 cfq_adapt_slice(u64 slice, u64 base_sync, u64 floor, u64 group_slice,
		    unsigned int busy)
{
	u64 turn, least;

	if (check_mul_overflow(base_sync, (u64)busy, &turn))
		turn = U64_MAX;
	if (!slice || turn <= group_slice)
		return slice;
	/* so neither base_sync nor busy is 0 */

	/* only fractions below: on x86, a quotient beyond 64 bits is fatal */
	if (floor >= base_sync)
		return slice;
	least = mul_u64_u64_div_u64(slice, floor, base_sync);
	least = max_t(u64, least, 1);
	return clamp(mul_u64_u64_div_u64(slice, group_slice, turn),
		     least, slice);
}

/**
 * cfq_slice_used - what is to be charged for a slice
 * @slice: slice; its start is 0 before the first completion, so whoever sets
 *	it makes sure that a time of 0 is not stored there
 * @now: when it ends, or is charged in between; may be a stamp that lags
 * @min: smallest charge, ns
 * @unaccounted: set to the time from the dispatch to the first completion, ns,
 *	or 0 before that
 *
 * The first seek is not the queue's fault, so it pays from its first completion
 * on; from the dispatch if there was none, or if there is nothing else to pay for.
 * Time before charged_until was paid already: after a charge, the caller moves that
 * on to @now, but never back.
 *
 * Context: Under cfqd->lock. Only reads @slice.
 * Return: charge, ns, at least @min.
 */
u64 cfq_slice_used(const struct cfq_slice *slice, u64 now, u64 min,
		   u64 *unaccounted)
{
	u64 begin = slice->dispatch_start;

	*unaccounted = 0;
	if (slice->start && !slice->one_request) {
		*unaccounted = blk_time_elapsed(slice->start, begin);
		begin = slice->start;
	}
	if (time_after64(slice->charged_until, begin))
		begin = slice->charged_until;
	return max(blk_time_elapsed(now, begin), min);
}

/**
 * cfq_slice_resid - what is left of a slice, for the queue's next turn
 * @slice: slice
 * @now: when it ends
 * @limit: most that may be carried either way, ns
 *
 * A slice that never started leaves nothing: the next one is a whole one anyway.
 *
 * Context: Under cfqd->lock. Only reads @slice.
 * Return: ns from @now to the end of @slice, negative where it is overdrawn.
 */
s64 cfq_slice_resid(const struct cfq_slice *slice, u64 now, u64 limit)
{
	s64 most = min_t(u64, limit, S64_MAX);

	if (!slice->start)
		return 0;
	return clamp_t(s64, slice->end - now, -most, most);
}

/**
 * cfq_min_vdisktime - where groups start that become active
 * @min: where they did until now
 * @first: the smallest vdisktime of all active groups
 *
 * Context: Any, pure.
 * Return: the later one of the two, so it never goes back.
 */
u64 cfq_min_vdisktime(u64 min, u64 first)
{
	return time_after64(first, min) ? first : min;
}

/**
 * cfq_vdisktime_cost - what a charge adds to the vdisktime of a group
 * @charge: device time, or requests in its currency, ns
 * @share: share of the group, of CFQ_SHARE_ALL; 0 counts as 1
 *
 * Context: Any, pure.
 * Return: @charge by that share, ns, less than 1 << 62.
 */
u64 cfq_vdisktime_cost(u64 charge, unsigned int share)
{
	u32 rest;
	u64 times;

	share = max(share, 1U);
	times = div_u64_rem(charge, share, &rest);
	/* saturate; the rest adds less than one to times */
	if (times >> (CFQ_COST_SHIFT - CFQ_SHARE_SHIFT))
		return BIT_ULL(CFQ_COST_SHIFT) - 1;
	return (times << CFQ_SHARE_SHIFT) +
		div_u64((u64)rest << CFQ_SHARE_SHIFT, share);
}

/* A part of a share; all of it where nobody, or only others, have a weight */
static u64 cfq_share_part(u64 share, unsigned int weight, unsigned int sum)
{
	return weight < sum ? mul_u64_u32_div(share, weight, sum) : share;
}

/**
 * cfq_group_share - what part of the device a group's own queues are to get
 * @cfqg: group, normally an active one
 *
 * Rounded down at each level, the shares of all groups add up to no more than
 * the device, but for those that are made up to 1.
 *
 * Context: Under cfqd->lock. Only reads.
 * Return: share, from 1 to CFQ_SHARE_ALL.
 */
unsigned int cfq_group_share(const struct cfq_group *cfqg)
{
	u64 share = cfq_share_part(BIT_ULL(CFQ_SHARE_FINE_SHIFT),
				   cfqg->leaf_weight, cfqg->active_weight);

	for (; cfqg->parent; cfqg = cfqg->parent)
		share = cfq_share_part(share, cfqg->weight,
				       cfqg->parent->active_weight);
	share >>= CFQ_SHARE_FINE_SHIFT - CFQ_SHARE_SHIFT;
	return max_t(unsigned int, share, 1);
}

/**
 * cfq_group_activate - a group competes for the device from now on
 * @cfqg: group, which does not
 *
 * Its ancestors become active with it, as far as they are not.
 *
 * Context: Under cfqd->lock. Returns nothing.
 */
void cfq_group_activate(struct cfq_group *cfqg)
{
	cfqg->competes = true;
	cfqg->active_weight += cfqg->leaf_weight;
	while (!cfqg->active++ && cfqg->parent) {
		cfqg->parent->active_weight += cfqg->weight;
		cfqg = cfqg->parent;
	}
}

/**
 * cfq_group_deactivate - a group does not compete for the device any more
 * @cfqg: group, which does
 *
 * Context: Under cfqd->lock. Returns nothing.
 */
void cfq_group_deactivate(struct cfq_group *cfqg)
{
	cfqg->competes = false;
	cfqg->active_weight -= cfqg->leaf_weight;
	while (!--cfqg->active && cfqg->parent) {
		cfqg->parent->active_weight -= cfqg->weight;
		cfqg = cfqg->parent;
	}
}

/**
 * cfq_group_reweigh - change the weights of a group, which may be active
 * @cfqg: group
 * @weight: new weight against its siblings
 * @leaf_weight: new weight of its own queues against its children
 *
 * Context: Under cfqd->lock. Returns nothing.
 */
void cfq_group_reweigh(struct cfq_group *cfqg, unsigned int weight,
		       unsigned int leaf_weight)
{
	/* unsigned, so smaller ones come out right as well */
	if (cfqg->competes)
		cfqg->active_weight += leaf_weight - cfqg->leaf_weight;
	if (cfqg->active && cfqg->parent)
		cfqg->parent->active_weight += weight - cfqg->weight;
	cfqg->weight = weight;
	cfqg->leaf_weight = leaf_weight;
}

/**
 * cfq_busy_avg - how many queues are busy, as far as latency is concerned
 * @avg: what this returned last time
 * @busy: how many are busy now
 *
 * More are believed at once, fewer only if that lasts.
 *
 * Context: Any, pure.
 * Return: decaying mean, at least @busy.
 */
unsigned int cfq_busy_avg(unsigned int avg, unsigned int busy)
{
	return max(busy, (3 * avg + busy) / 4);
}

/**
 * cfq_ttime_update - add a sample to a think time
 * @ttime: think time
 * @now: when a request came; may be a stamp that lags behind the completion
 * @limit: what is longer counts as that, ns; an hour is the most
 *
 * There is no sample before anything has completed.
 *
 * Context: Under cfqd->lock. Returns nothing.
 */
void cfq_ttime_update(struct cfq_ttime *ttime, u64 now, u64 limit)
{
	u64 sample;

	if (!ttime->last_end)
		return;

	sample = min3(blk_time_elapsed(now, ttime->last_end), limit,
		      CFQ_TTIME_MAX_NS);
	ttime->samples = (7 * ttime->samples + 256) / 8;
	ttime->total = (7 * ttime->total + 256 * sample) / 8;
	ttime->mean = div64_u64(ttime->total + 128, ttime->samples);
}

#if IS_ENABLED(CONFIG_IOSCHED_CFQ_KUNIT_TEST)
#include "cfq-account-test.c"
#endif
