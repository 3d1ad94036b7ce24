// SPDX-License-Identifier: GPL-2.0
/*
 * CFQ I/O scheduler for blk-mq: slices of the device's time for processes, by
 * I/O priority, and shares of it for cgroups, by weight.
 * See Documentation/block/cfq-iosched.rst.
 */
#include <linux/blk-mq.h>
#include <linux/blk-time.h>
#include <linux/blkdev.h>
#include <linux/blktrace_api.h>
#include <linux/module.h>
#include <linux/sbitmap.h>

#include <trace/events/block.h>

#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"
#include "blk-mq-tag.h"
#include "blk-wbt.h"
#include "cfq-iosched.h"
#include "elevator.h"

enum {
	/* The class IDLE is served when others have been quiet for that long ... */
	CFQ_IDLE_GRACE_NS	= 200 * NSEC_PER_MSEC,

	/* A workload is served for at least that long. */
	CFQ_WORKLOAD_MIN_NS	= 2 * NSEC_PER_MSEC,

	/* So many at once in a device that reorders; fewer tags, and it cannot. */
	CFQ_NCQ_DEPTH		= 5,

	/* A queue with so many requests at once is not shallow, however seeky. */
	CFQ_DEEP		= 4,

	/* Queues that are looked at for one that goes on where another ends. */
	CFQ_CLOSE_SCAN		= 32,

	/* An eighth of the last 32 requests makes a queue seeky. */
	CFQ_SEEKS		= 32 / 8,

	/* Cannot be reached by a seek forwards, nor by one backwards. */
	CFQ_SEEK_FAR_SHIFT	= 62,
};

/* ... and at the latest after this. */
#define CFQ_IDLE_MAX_WAIT_NS	(10ULL * NSEC_PER_SEC)

/* Why a slice ends */
enum cfq_reason {
	CFQ_USED_UP,
	CFQ_EMPTY,
	CFQ_NOT_BACK,
	CFQ_PREEMPTED,
	CFQ_ASYNC_ENOUGH,
	CFQ_ONE_FROM_IDLE,
	CFQ_COOPERATES,
	CFQ_MOVED,
};

static const char * const cfq_reasons[] __maybe_unused = {
	[CFQ_USED_UP]		= "used up",
	[CFQ_EMPTY]		= "no request",
	[CFQ_NOT_BACK]		= "idled in vain",
	[CFQ_PREEMPTED]		= "preempted",
	[CFQ_ASYNC_ENOUGH]	= "enough async requests",
	[CFQ_ONE_FROM_IDLE]	= "one request of class idle",
	[CFQ_COOPERATES]	= "goes on in another queue",
	[CFQ_MOVED]		= "other group or priority",
};

static struct kmem_cache *cfq_queue_cache;

#define cfq_log(cfqq, fmt, ...)						\
do {									\
	const struct cfq_queue *__cfqq __maybe_unused = (cfqq);		\
									\
	blk_add_trace_msg(__cfqq->cfqd->queue, "cfq%d%c " fmt,		\
			  __cfqq->pid, __cfqq->sync ? 'S' : 'A',	\
			  ##__VA_ARGS__);				\
} while (0)

static struct cfq_queue *rq_cfqq(const struct request *rq)
{
	return rq->rq_flags & RQF_ELVPRIV ? rq->elv.priv[0] : NULL;
}

/*
 * The slice in which it was given to the device, or 0: it is not there. Requests
 * come back without completing, too.
 */
static unsigned long rq_slice(const struct request *rq)
{
	return (unsigned long)rq->elv.priv[1];
}

static sector_t cfq_end_sector(const struct request *rq)
{
	return blk_rq_pos(rq) + blk_rq_sectors(rq);
}

static struct cfq_io_cq *icq_to_cic(struct io_cq *icq)
{
	return container_of(icq, struct cfq_io_cq, icq);
}

static bool cfqq_has_requests(const struct cfq_queue *cfqq)
{
	return cfqq->queued;
}

static bool cfqq_busy(const struct cfq_queue *cfqq)
{
	return !list_empty(&cfqq->node);
}

static bool cfqq_seeky(const struct cfq_queue *cfqq)
{
	return hweight32(cfqq->seek_history) > CFQ_SEEKS;
}

static enum cfq_workload cfqq_workload(const struct cfq_queue *cfqq)
{
	if (!cfqq->sync)
		return CFQ_ASYNC;
	return cfqq->idle_worth ? CFQ_SYNC : CFQ_SEEKY;
}

/* Are groups charged by requests? Time says nothing where the device overlaps them. */
static bool cfq_charges_requests(const struct cfq_data *cfqd)
{
	return !cfqd->tune.slice_idle && cfqd->ncq;
}

static bool rq_priority(const struct request *rq)
{
	return rq->cmd_flags & (REQ_META | REQ_PRIO);
}

/* Dispatch may find something now; the caller kicks if that is to be seen soon. */
static bool cfq_release(struct cfq_data *cfqd)
{
	bool held = cfqd->held_back;

	WRITE_ONCE(cfqd->held_back, false);
	return held;
}

/*
 * Groups: which are busy, and in which order.
 */

static struct cfq_group *cfq_first_group(const struct cfq_data *cfqd)
{
	return rb_entry_safe(rb_first_cached(&cfqd->groups), struct cfq_group,
			     node);
}

/* Who would be served if @cfqg were not, or NULL */
static struct cfq_group *cfq_other_group(const struct cfq_data *cfqd,
					 const struct cfq_group *cfqg)
{
	struct rb_node *node = rb_first_cached(&cfqd->groups);

	if (node == &cfqg->node)
		node = rb_next(node);
	return rb_entry_safe(node, struct cfq_group, node);
}

static bool cfq_group_less(struct rb_node *a, const struct rb_node *b)
{
	return time_before64(rb_entry(a, struct cfq_group, node)->vdisktime,
			     rb_entry(b, struct cfq_group, node)->vdisktime);
}

static void cfq_group_insert(struct cfq_data *cfqd, struct cfq_group *cfqg)
{
	rb_add_cached(&cfqg->node, &cfqd->groups, cfq_group_less);
	cfqd->min_vdisktime = cfq_min_vdisktime(cfqd->min_vdisktime,
						cfq_first_group(cfqd)->vdisktime);
}

static void cfq_group_erase(struct cfq_data *cfqd, struct cfq_group *cfqg)
{
	rb_erase_cached(&cfqg->node, &cfqd->groups);
	RB_CLEAR_NODE(&cfqg->node);
}

/* It has nothing to do, and is not expected to be back soon. */
static void cfq_group_leave(struct cfq_group *cfqg)
{
	list_del_init(&cfqg->empty_node);
	cfq_group_deactivate(cfqg);
}

/*
 * Groups compete for as long as the device might have waited for them, or others
 * would pay less for what they do while one of them thinks.
 */
static void cfq_drop_empty_groups(struct cfq_data *cfqd, u64 now)
{
	struct cfq_group *cfqg, *next;

	list_for_each_entry_safe(cfqg, next, &cfqd->empty_groups, empty_node) {
		if (cfqg->dispatched)
			continue;
		if (blk_time_elapsed(now, cfqg->empty_at) <= cfqd->tune.group_idle)
			break;
		cfq_group_leave(cfqg);
	}
}

/* Who waits for the device does not think yet. */
static void cfq_group_served(struct cfq_data *cfqd, struct cfq_group *cfqg, u64 now)
{
	if (list_empty(&cfqg->empty_node) || cfqg->dispatched)
		return;
	cfqg->empty_at = now;
	list_move_tail(&cfqg->empty_node, &cfqd->empty_groups);
}

static void cfq_group_charge(struct cfq_data *cfqd, struct cfq_group *cfqg,
			     u64 charge, u64 now)
{
	/* Only the class IDLE was served: the group does not compete for that. */
	if (RB_EMPTY_NODE(&cfqg->node))
		return;
	cfq_drop_empty_groups(cfqd, now);
	cfq_group_erase(cfqd, cfqg);
	cfqg->vdisktime += cfq_vdisktime_cost(charge, cfq_group_share(cfqg));
	cfq_group_insert(cfqd, cfqg);
}

static void cfq_group_add_busy(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			       u64 now)
{
	struct cfq_group *cfqg = cfqq->group;

	cfqg->class_busy[cfqq->class]++;
	if (cfqg->nr_busy++)
		return;
	cfq_drop_empty_groups(cfqd, now);
	if (cfqg->competes) {
		list_del_init(&cfqg->empty_node);
	} else {
		/* What it did not use while it had nothing to do is lost. */
		cfqg->vdisktime = cfq_min_vdisktime(cfqg->vdisktime,
						    cfqd->min_vdisktime);
		cfq_group_activate(cfqg);
	}
	cfq_group_insert(cfqd, cfqg);
}

static void cfq_group_del_busy(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			       u64 now)
{
	struct cfq_group *cfqg = cfqq->group;

	cfqg->class_busy[cfqq->class]--;
	if (--cfqg->nr_busy)
		return;
	cfq_group_erase(cfqd, cfqg);
	cfqg->saved_left = 0;
	cfqg->empty_at = now;
	list_add_tail(&cfqg->empty_node, &cfqd->empty_groups);
	cfq_stats_empty(cfqg, now);
}

/*
 * Queues: which are busy, and in which order.
 */

/* At the end of its list, or at its head */
static void cfq_add_busy(struct cfq_data *cfqd, struct cfq_queue *cfqq, u64 now,
			 bool head)
{
	struct list_head *list = &cfqd->idle_queues;

	cfqq->since = now;
	cfqd->nr_busy++;
	if (cfqq->class != CFQ_IDLE) {
		cfqq->busy_workload = cfqq_workload(cfqq);
		list = &cfqq->group->queues[cfqq->class][cfqq->busy_workload];
		cfqq->group->wl_count[cfqq->class][cfqq->busy_workload]++;
		cfq_group_add_busy(cfqd, cfqq, now);
	} else if (list_empty(list)) {
		/* It waits from now on, not since the class was served last. */
		cfqd->idle_served = now;
	}
	if (head)
		list_add(&cfqq->node, list);
	else
		list_add_tail(&cfqq->node, list);
}

static void cfq_del_busy(struct cfq_data *cfqd, struct cfq_queue *cfqq, u64 now)
{
	list_del_init(&cfqq->node);
	cfqd->nr_busy--;
	if (cfqq->class == CFQ_IDLE)
		return;
	cfqq->group->wl_count[cfqq->class][cfqq->busy_workload]--;
	cfq_group_del_busy(cfqd, cfqq, now);
}

/* To the end of the list of what it is by now; its group stays where it is. */
static void cfq_requeue_busy(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			     u64 now, bool head)
{
	struct cfq_group *cfqg = cfqq->group;
	struct list_head *list = &cfqd->idle_queues;

	cfqq->since = now;
	if (cfqq->class != CFQ_IDLE) {
		cfqg->wl_count[cfqq->class][cfqq->busy_workload]--;
		cfqq->busy_workload = cfqq_workload(cfqq);
		cfqg->wl_count[cfqq->class][cfqq->busy_workload]++;
		list = &cfqg->queues[cfqq->class][cfqq->busy_workload];
	}
	if (head)
		list_move(&cfqq->node, list);
	else
		list_move_tail(&cfqq->node, list);
}

/*
 * Slices
 */

/* How much of the device's time the group may hope for within target_latency */
static u64 cfq_group_slice(const struct cfq_data *cfqd,
			   const struct cfq_group *cfqg)
{
	return mul_u64_u32_shr(cfqd->tune.target_latency, cfq_group_share(cfqg),
			       CFQ_SHARE_SHIFT);
}

static unsigned int cfq_count_busy(struct cfq_group *cfqg, enum cfq_class class)
{
	cfqg->busy_avg[class] = cfq_busy_avg(cfqg->busy_avg[class],
					     cfqg->class_busy[class]);
	return cfqg->busy_avg[class];
}

/* A turn is what comes before the slice as well, and all turns make the latency. */
static u64 cfq_queue_slice(struct cfq_data *cfqd, struct cfq_queue *cfqq)
{
	const struct cfq_tunables *tune = &cfqd->tune;
	u64 slice = cfq_level_slice(tune->slice[cfqq->sync], cfqq->level);
	u64 group_slice, floor;
	unsigned int busy;

	if (!tune->low_latency || cfqq->class == CFQ_IDLE)
		return slice;
	/* One that is shorter would be spent on waiting. */
	floor = 2 * tune->slice_idle - min(cfqd->start_cost, tune->slice_idle);
	busy = cfq_count_busy(cfqq->group, cfqq->class);
	group_slice = cfq_group_slice(cfqd, cfqq->group);
	group_slice -= min(busy * cfqd->start_cost, group_slice / 2);
	return cfq_adapt_slice(slice, tune->slice[1], floor, group_slice, busy);
}

/* The clock of a slice starts when its first request completes. */
static void cfq_start_slice(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			    u64 now)
{
	struct cfq_slice *slice = &cfqd->slice;

	cfqd->start_cost = (7 * cfqd->start_cost +
			    blk_time_elapsed(now, slice->dispatch_start)) / 8;
	cfqq->slice_len = cfq_queue_slice(cfqd, cfqq);
	/* Overdrawn by no more than the last one, which may have been longer. */
	slice->allocated = max_t(s64, cfqq->slice_len + cfqq->resid, 1);
	cfqq->resid = 0;
	slice->start = now ?: 1;
	slice->end = slice->start + slice->allocated;
	cfq_log(cfqq, "slice start, %llu ns", slice->allocated);
}

static bool cfq_slice_over(const struct cfq_data *cfqd, u64 now)
{
	return cfqd->slice.start && !time_before64(now, cfqd->slice.end);
}

/* The queue that is served from here on, with its group and workload */
static void cfq_set_active(struct cfq_data *cfqd, struct cfq_queue *cfqq, u64 now)
{
	u64 charged_until = cfqd->slice.charged_until;

	cfqd->active = cfqq;
	cfqd->slice_nr = cfqd->slice_nr + 1 ?: 1;
	cfqd->slice = (struct cfq_slice) {
		.dispatch_start	= now,
		.charged_until	= charged_until,
	};
	cfqq->fifo_checked = false;
	cfqq->must_dispatch = true;
	cfqd->idle_until = 0;
	if (cfqq->class == CFQ_IDLE)
		cfqd->idle_served = now;
	cfq_stats_active(cfqq->group, now);
}

static void cfq_charge_slice(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			     u64 now, enum cfq_reason reason)
{
	struct cfq_slice *slice = &cfqd->slice;
	u64 used, charge, unaccounted;

	used = cfq_slice_used(slice, now, cfqd->tune.charge_min, &unaccounted);
	/* Nothing was asked of the device, and nothing was waited for. */
	if (!slice->dispatched && !slice->start)
		used = 0;
	charge = used;
	if (cfq_charges_requests(cfqd))
		charge = slice->dispatched * CFQ_REQUEST_CHARGE;
	slice->charged_until = cfq_min_vdisktime(slice->charged_until, now);

	cfq_log(cfqq, "expires, %s: %llu ns, %u requests, charge %llu",
		cfq_reasons[reason], used, slice->dispatched, charge);
	cfq_group_charge(cfqd, cfqq->group, charge, now);
	cfq_stats_slice(cfqq->group, used, unaccounted);
}

/* The slice of the active queue ends here. */
static void cfq_expire(struct cfq_data *cfqd, u64 now, enum cfq_reason reason)
{
	struct cfq_queue *cfqq = cfqd->active;
	bool preempted = reason == CFQ_PREEMPTED;

	if (cfqd->idle_until)
		cfq_stats_idle_end(cfqq->group, now);
	cfq_charge_slice(cfqd, cfqq, now, reason);
	/* Who has nothing to do leaves the rest to others. */
	if (cfqd->slice.start && !cfqd->slice.one_request &&
	    (preempted || cfqq_has_requests(cfqq)))
		cfqq->resid = cfq_slice_resid(&cfqd->slice, now, cfqq->slice_len);
	else if (cfqd->slice.start)
		cfqq->resid = min_t(s64, 0, cfq_slice_resid(&cfqd->slice, now,
							    cfqq->slice_len));
	cfqq->must_dispatch = false;
	cfqd->active = NULL;
	cfqd->idle_until = 0;
	if (cfqq_has_requests(cfqq))
		cfq_requeue_busy(cfqd, cfqq, now, preempted);
	else if (cfqq_busy(cfqq))
		cfq_del_busy(cfqd, cfqq, now);
}

/*
 * Lifetime of queues, all under cfqd->lock
 */

static void cfq_free_queue(struct cfq_queue *cfqq)
{
	struct cfq_data *cfqd = cfqq->cfqd;

	do {
		struct cfq_queue *merge_to = cfqq->merge_to;

		if (cfqd->active == cfqq)
			cfq_expire(cfqd, blk_time_get_ns(), CFQ_EMPTY);
		WARN_ON_ONCE(cfqq_busy(cfqq) || cfqq_has_requests(cfqq));
		list_del(&cfqq->group_node);
		kmem_cache_free(cfq_queue_cache, cfqq);
		cfqq = merge_to;
	} while (cfqq && !--cfqq->ref);
}

static void cfq_put_queue(struct cfq_queue *cfqq)
{
	if (!--cfqq->ref)
		cfq_free_queue(cfqq);
}

static enum cfq_class cfq_class(unsigned short ioprio, unsigned int *level)
{
	*level = IOPRIO_PRIO_LEVEL(ioprio);
	switch (IOPRIO_PRIO_CLASS(ioprio)) {
	case IOPRIO_CLASS_RT:
		return CFQ_RT;
	case IOPRIO_CLASS_BE:
		return CFQ_BE;
	case IOPRIO_CLASS_IDLE:
		*level = IOPRIO_NR_LEVELS - 1;
		return CFQ_IDLE;
	default:
		*level = IOPRIO_BE_NORM;
		return CFQ_BE;
	}
}

static void cfq_set_ioprio(struct cfq_queue *cfqq, unsigned short ioprio)
{
	cfqq->ioprio = ioprio;
	cfqq->class = cfq_class(ioprio, &cfqq->level);
}

static void cfq_init_queue(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			   struct cfq_group *cfqg, bool sync,
			   unsigned short ioprio)
{
	cfqq->cfqd = cfqd;
	cfqq->ref = 1;
	cfqq->users = 1;
	cfqq->sync = sync;
	cfqq->pid = sync ? current->pid : 0;
	INIT_LIST_HEAD(&cfqq->fifo);
	INIT_LIST_HEAD(&cfqq->node);
	cfqq->group = cfqg;
	list_add(&cfqq->group_node, &cfqg->all_queues);
	cfq_set_ioprio(cfqq, ioprio);
	/* It is taken for one that is worth idling for until it is known. */
	cfqq->idle_worth = sync && cfqd->tune.slice_idle && cfqq->class != CFQ_IDLE;
}

/* In a flush from schedule(), or with the lock held: no sleep for memory. */
static struct cfq_queue *cfq_alloc_queue(struct cfq_data *cfqd,
					 struct cfq_group *cfqg, bool sync,
					 unsigned short ioprio)
{
	struct cfq_queue *cfqq;

	cfqq = kmem_cache_alloc_node(cfq_queue_cache,
				     GFP_ATOMIC | __GFP_ZERO | __GFP_NOWARN,
				     cfqd->queue->node);
	if (cfqq)
		cfq_init_queue(cfqd, cfqq, cfqg, sync, ioprio);
	return cfqq;
}

/* The process lets go of its queue. */
static void cfq_drop_sync(struct cfq_io_cq *cic)
{
	struct cfq_queue *cfqq = cic->sync;

	cic->sync = NULL;
	cfqq->users--;
	cfq_put_queue(cfqq);
}

static void cfq_leave_group(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			    struct cfq_group *to, u64 now)
{
	struct request *rq;
	bool busy;

	if (cfqq == cfqd->active)
		cfq_expire(cfqd, now, CFQ_MOVED);
	busy = cfqq_busy(cfqq);
	if (busy)
		cfq_del_busy(cfqd, cfqq, now);
	if (cfq_stats_on()) {
		list_for_each_entry(rq, &cfqq->fifo, queuelist) {
			cfq_stats_remove(cfqq->group, rq->cmd_flags);
			cfq_stats_insert(to, rq->cmd_flags, now);
		}
	}
	cfqq->group->dispatched -= cfqq->dispatched;
	to->dispatched += cfqq->dispatched;
	cfqq->group = to;
	list_move(&cfqq->group_node, &to->all_queues);
	if (busy)
		cfq_add_busy(cfqd, cfqq, now, false);
}

/* Queues of other processes may have taken over, or go separate ways again. */
static void cfq_follow_merge(struct cfq_io_cq *cic)
{
	struct cfq_queue *cfqq = cic->sync, *to = cfqq;

	while (to->merge_to)
		to = to->merge_to;
	if (to != cfqq) {
		to->ref++;
		to->users++;
		cfq_drop_sync(cic);
		cic->sync = to;
	}
	if (!to->split)
		return;
	if (to->users > 1) {
		cfq_log(to, "splits");
		cfq_drop_sync(cic);
	} else {
		to->split = false;
	}
}

/*
 * A sync queue for the process, in the group that its request belongs to: what is
 * queued for another group stays there. What is known of the process goes along.
 */
static noinline struct cfq_queue *cfq_new_sync(struct cfq_data *cfqd,
					       struct cfq_io_cq *cic,
					       struct cfq_group *cfqg,
					       unsigned short ioprio, u64 now)
{
	struct cfq_queue *old = cic->sync, *cfqq;

	if (old && old->users == 1 && !old->dispatched && !cfqq_has_requests(old)) {
		cfq_leave_group(cfqd, old, cfqg, now);
		return old;
	}
	cfqq = cfq_alloc_queue(cfqd, cfqg, true, ioprio);
	if (cfqq && old) {
		cfqq->ttime = old->ttime;
		cfqq->seek_history = old->seek_history;
		cfqq->last_pos = old->last_pos;
	}
	if (old)
		cfq_drop_sync(cic);
	cic->sync = cfqq;
	return cfqq ?: &cfqd->oom_queue;
}

static struct cfq_queue *cfq_get_sync(struct cfq_data *cfqd,
				      struct cfq_io_cq *cic,
				      struct cfq_group *cfqg,
				      unsigned short ioprio, u64 now)
{
	if (cic->sync && (cic->sync->merge_to || cic->sync->split))
		cfq_follow_merge(cic);
	if (likely(cic->sync && cic->sync->group == cfqg))
		return cic->sync;
	return cfq_new_sync(cfqd, cic, cfqg, ioprio, now);
}

static struct cfq_queue **cfq_async_slot(struct cfq_group *cfqg,
					 unsigned short ioprio)
{
	unsigned int level;
	enum cfq_class class = cfq_class(ioprio, &level);

	return class == CFQ_IDLE ? &cfqg->async_idle : &cfqg->async[class][level];
}

static struct cfq_queue *cfq_get_async(struct cfq_data *cfqd,
				       struct cfq_group *cfqg,
				       unsigned short ioprio)
{
	struct cfq_queue **slot = cfq_async_slot(cfqg, ioprio);

	if (!*slot)
		*slot = cfq_alloc_queue(cfqd, cfqg, false, ioprio);
	return *slot ?: &cfqd->oom_queue;
}

static void cfq_put_async(struct cfq_group *cfqg)
{
	struct cfq_queue **slot = &cfqg->async[0][0];
	int i;

	for (i = 0; i < CFQ_IDLE * IOPRIO_NR_LEVELS; i++) {
		if (slot[i])
			cfq_put_queue(slot[i]);
		slot[i] = NULL;
	}
	if (cfqg->async_idle)
		cfq_put_queue(cfqg->async_idle);
	cfqg->async_idle = NULL;
}

/**
 * cfq_group_init - make a group that has no queue
 * @cfqg: zeroed
 * @weight: its weight, and that of its own queues against its children
 *
 * Context: Any context, before anybody else knows @cfqg.
 */
void cfq_group_init(struct cfq_group *cfqg, unsigned int weight)
{
	int class, wl;

	RB_CLEAR_NODE(&cfqg->node);
	INIT_LIST_HEAD(&cfqg->empty_node);
	INIT_LIST_HEAD(&cfqg->all_queues);
	for (class = 0; class < CFQ_IDLE; class++)
		for (wl = 0; wl < CFQ_WORKLOADS; wl++)
			INIT_LIST_HEAD(&cfqg->queues[class][wl]);
	cfqg->weight = weight;
	cfqg->leaf_weight = weight;
	cfqg->online = true;
}

/**
 * cfq_group_offline - no queue belongs to the group any more
 * @cfqd: device
 * @cfqg: group whose cgroup is removed
 *
 * Its queues, those with requests in the device or with none at all included, go
 * to its parent, so nothing points to @cfqg afterwards. The root has no parent:
 * it goes with the scheduler, when there are no requests and processes left.
 *
 * Context: cfqd->lock is held.
 */
void cfq_group_offline(struct cfq_data *cfqd, struct cfq_group *cfqg)
{
	struct cfq_queue *cfqq, *next;
	u64 now = ktime_get_ns();

	cfqg->online = false;
	cfq_put_async(cfqg);
	if (cfqg->parent) {
		list_for_each_entry_safe(cfqq, next, &cfqg->all_queues, group_node)
			cfq_leave_group(cfqd, cfqq, cfqg->parent, now);
	}
	if (!list_empty(&cfqg->empty_node))
		cfq_group_leave(cfqg);
	if (cfqd->active_group == cfqg)
		cfqd->active_group = NULL;
}

/*
 * Order within a queue
 */

/* What it costs to go from @last to @pos, in sectors that are passed */
static u64 cfq_seek_cost(const struct cfq_data *cfqd, sector_t pos, sector_t last)
{
	if (pos >= last)
		return pos - last;
	if (last - pos <= cfqd->tune.back_max)
		return (last - pos) * cfqd->tune.back_penalty;
	/* Too far back: it is next when the sweep starts anew. */
	return (1ULL << CFQ_SEEK_FAR_SHIFT) + pos;
}

static struct request *cfq_closer(const struct cfq_data *cfqd, struct request *a,
				  struct request *b, sector_t last)
{
	if (!a || !b || a == b)
		return a ?: b;
	if (likely(a->cmd_flags == b->cmd_flags))
		goto distance;
	if (rq_is_sync(a) != rq_is_sync(b))
		return rq_is_sync(a) ? a : b;
	if (rq_priority(a) != rq_priority(b))
		return rq_priority(a) ? a : b;
distance:
	return cfq_seek_cost(cfqd, blk_rq_pos(b), last) <
	       cfq_seek_cost(cfqd, blk_rq_pos(a), last) ? b : a;
}

/* The best one to follow @rq, which is in the tree */
static struct request *cfq_next_request(const struct cfq_data *cfqd,
					struct cfq_queue *cfqq,
					struct request *rq)
{
	struct rb_node *next = rb_next(&rq->rb_node), *prev;

	if (!next) {
		next = rb_first(&cfqq->sorted);
		if (next == &rq->rb_node)
			next = NULL;
	}
	/* Without heads, no way is longer than another: on in one direction. */
	if (blk_queue_nonrot(cfqd->queue))
		return rb_entry_safe(next, struct request, rb_node);
	prev = rb_prev(&rq->rb_node);
	return cfq_closer(cfqd, rb_entry_safe(next, struct request, rb_node),
			  rb_entry_safe(prev, struct request, rb_node),
			  cfq_end_sector(rq));
}

static void cfq_sort(struct cfq_data *cfqd, struct cfq_queue *cfqq,
		     struct request *rq)
{
	elv_rb_add(&cfqq->sorted, rq);
	/* Without heads, any place is as good to go on from. */
	if (!cfqq->next_rq || rq_priority(rq) || !blk_queue_nonrot(cfqd->queue))
		cfqq->next_rq = cfq_closer(cfqd, cfqq->next_rq, rq, cfqd->last_pos);
	cfqq->queued++;
	cfqq->priority += rq_priority(rq);
	WRITE_ONCE(cfqd->nr_queued, cfqd->nr_queued + 1);
}

static void cfq_unsort(struct cfq_data *cfqd, struct cfq_queue *cfqq,
		       struct request *rq)
{
	if (cfqq->next_rq == rq)
		cfqq->next_rq = cfq_next_request(cfqd, cfqq, rq);
	elv_rb_del(&cfqq->sorted, rq);
	cfqq->queued--;
	cfqq->priority -= rq_priority(rq);
	WRITE_ONCE(cfqd->nr_queued, cfqd->nr_queued - 1);
}

/* It leaves the scheduler's hands: to the device, or into another request. */
static void cfq_remove_request(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			       struct request *rq)
{
	struct request_queue *q = cfqd->queue;

	cfq_unsort(cfqd, cfqq, rq);
	list_del_init(&rq->queuelist);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
	cfq_stats_remove(cfqq->group, rq->cmd_flags);
}

/*
 * What is known of a process: think time, seeks
 */

static void cfq_update_seeks(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			     struct request *rq)
{
	sector_t pos = blk_rq_pos(rq), last = cfqq->last_pos;
	u64 dist = pos > last ? pos - last : last - pos;
	bool seek;

	/* Without heads, small requests are what costs. */
	if (blk_queue_nonrot(cfqd->queue))
		seek = blk_rq_sectors(rq) < CFQ_BIG_REQUEST;
	else
		seek = last && dist > CFQ_SEEK_THR;
	cfqq->seek_history = cfqq->seek_history << 1 | seek;
	cfqq->last_pos = cfq_end_sector(rq);
}

static void cfq_update_ttimes(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			      u64 now)
{
	const struct cfq_tunables *tune = &cfqd->tune;
	const struct cfq_queue *active = cfqd->active;
	struct cfq_group *cfqg = cfqq->group;
	bool waits, seeky;

	if (cfqq_has_requests(cfqq) && !tune->slice_idle)
		return;
	/* Who has requests under way does not think. */
	if (!cfqq->dispatched && !cfqq_has_requests(cfqq))
		cfq_ttime_update(&cfqq->ttime, now, 2 * tune->slice_idle);
	if (cfqq->class == CFQ_IDLE)
		return;

	/* The one that the device waits for counts as busy, and is not. */
	waits = active && active->group == cfqg && !cfqq_has_requests(active);
	seeky = waits && active->class == cfqq->class &&
		active->busy_workload == CFQ_SEEKY;
	if (!cfqq->idle_worth && cfqg->wl_count[cfqq->class][CFQ_SEEKY] == seeky)
		cfq_ttime_update(&cfqg->seeky_ttime[cfqq->class], now,
				 2 * tune->slice_idle);
	if (cfqg->nr_busy == waits && !cfqg->dispatched)
		cfq_ttime_update(&cfqg->ttime, now, 2 * tune->group_idle);
}

/* Is it worth it to keep the device idle for the next request of the process? */
static void cfq_update_idle_worth(struct cfq_data *cfqd, struct cfq_queue *cfqq,
				  struct request *rq)
{
	u64 limit = cfqd->tune.slice_idle;
	bool deep = cfqq->queued >= CFQ_DEEP;

	if (cfqq->class == CFQ_IDLE || !limit)
		cfqq->idle_worth = false;
	else if (op_is_write(rq->cmd_flags) && !(rq->cmd_flags & REQ_IDLE))
		cfqq->idle_worth = false;
	else if (cfqq_seeky(cfqq) && !deep)
		cfqq->idle_worth = false;
	else if (cfq_ttime_long(&cfqq->ttime, limit))
		cfqq->idle_worth = false;
	else if (cfqq->ttime.samples > CFQ_TTIME_VALID)
		cfqq->idle_worth = true;
}

/*
 * Is the device to wait for another request of @cfqq, or for one of the list that it
 * is the last of? A device that reorders, and has no heads to move, need not wait.
 */
static bool cfq_should_idle(const struct cfq_data *cfqd,
			    const struct cfq_queue *cfqq)
{
	const struct cfq_group *cfqg = cfqq->group;

	if (!cfqd->tune.slice_idle || !cfqq->sync || cfqq->class == CFQ_IDLE)
		return false;
	if (blk_queue_nonrot(cfqd->queue) && cfqd->ncq)
		return false;
	if (cfqq->idle_worth)
		return true;
	return cfqg->wl_count[cfqq->class][CFQ_SEEKY] == 1 &&
	       cfqq->busy_workload == CFQ_SEEKY &&
	       !cfq_ttime_long(&cfqg->seeky_ttime[cfqq->class],
			       cfqd->tune.slice_idle);
}

/*
 * How long the device may wait for the group's next request, ns: as long as the
 * group would still be the first to be served if it came. After that, what the
 * group loses by the wait is more than what others would take from it.
 */
static u64 cfq_group_wait(const struct cfq_data *cfqd, const struct cfq_queue *cfqq,
			  u64 now)
{
	const struct cfq_group *cfqg = cfqq->group, *other;
	unsigned int share;
	u64 used, unaccounted, ahead, wait;

	if (!cfqd->tune.group_idle || cfqq->class == CFQ_IDLE || cfqg->nr_busy != 1)
		return 0;
	other = cfq_other_group(cfqd, cfqg);
	if (!other)
		return 0;

	share = cfq_group_share(cfqg);
	used = cfq_slice_used(&cfqd->slice, now, cfqd->tune.charge_min, &unaccounted);
	if (cfq_charges_requests(cfqd))
		used = cfqd->slice.dispatched * CFQ_REQUEST_CHARGE;
	ahead = blk_time_elapsed(other->vdisktime,
				 cfqg->vdisktime + cfq_vdisktime_cost(used, share));
	wait = min(mul_u64_u32_shr(ahead, share, CFQ_SHARE_SHIFT),
		   cfqd->tune.group_idle);
	/* Not if the next request comes after the end of it. */
	return cfq_ttime_long(&cfqg->ttime, wait) ? 0 : wait;
}

/* What the group served when its turn was over goes on when it has its next one. */
static void cfq_switch_group(struct cfq_data *cfqd, struct cfq_group *cfqg, u64 now)
{
	struct cfq_group *old = cfqd->active_group;

	if (old == cfqg)
		return;
	if (old) {
		old->saved_class = cfqd->active_class;
		old->saved_workload = cfqd->active_workload;
		old->saved_left = blk_time_elapsed(cfqd->workload_end, now);
	}
	cfqd->active_group = cfqg;
	cfqd->active_class = cfqg->saved_class;
	cfqd->active_workload = cfqg->saved_workload;
	cfqd->workload_end = now + cfqg->saved_left;
}

/*
 * Preemption and cooperation
 */

/* May @cfqq, which has got @rq, take over from the active queue? */
static bool cfq_should_preempt(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			       struct request *rq, u64 now)
{
	struct cfq_queue *active = cfqd->active;

	if (!active || active == cfqq || cfqq->class == CFQ_IDLE)
		return false;
	/* An async one may wait for the device to drain first: it had its turn then. */
	if (active->class == CFQ_IDLE)
		return active->sync || !active->must_dispatch;
	/* Groups get their share of time, whatever is urgent in others. */
	if (active->group != cfqq->group)
		return false;
	if (cfqq->class != active->class)
		return cfqq->class < active->class;
	if (rq_is_sync(rq) && !active->sync && !active->must_dispatch)
		return true;
	if (rq_priority(rq) && !active->priority)
		return true;
	/* It idles for the group, or for the list, which has something to do now. */
	return cfqd->idle_until && (cfq_slice_over(cfqd, now) ||
				    !cfq_should_idle(cfqd, active));
}

static void cfq_preempt(struct cfq_data *cfqd, struct cfq_queue *cfqq, u64 now)
{
	cfq_expire(cfqd, now, CFQ_PREEMPTED);
	/* The rest of the workload's time is spent on this one. */
	cfq_switch_group(cfqd, cfqq->group, now);
	cfqd->active_class = cfqq->class;
	cfqd->active_workload = cfqq->busy_workload;
	cfqd->workload_end = now;
	cfq_set_active(cfqd, cfqq, now);
}

/* Does another queue of its kind go on where this one ended? */
static struct cfq_queue *cfq_close_queue(struct cfq_data *cfqd,
					 struct cfq_queue *cfqq)
{
	struct cfq_queue *other;
	unsigned int seen = 0;

	if (!cfqq->sync || cfqq->class == CFQ_IDLE || cfqq_seeky(cfqq) ||
	    cfqq == &cfqd->oom_queue || !cfqd->tune.slice_idle)
		return NULL;
	list_for_each_entry(other, &cfqq->group->queues[cfqq->class][cfqq->busy_workload],
			    node) {
		sector_t pos, last = cfqd->last_pos;

		if (++seen > CFQ_CLOSE_SCAN)
			break;
		if (other == cfqq || !other->next_rq || cfqq_seeky(other) ||
		    other == &cfqd->oom_queue)
			continue;
		pos = blk_rq_pos(other->next_rq);
		if (pos >= last ? pos - last <= CFQ_SEEK_THR :
				  last - pos <= CFQ_SEEK_THR)
			return other;
	}
	return NULL;
}

/* The process of @cfqq uses @to from its next request on, see cfq_follow_merge(). */
static void cfq_merge_queues(struct cfq_queue *cfqq, struct cfq_queue *to)
{
	while (to->merge_to)
		to = to->merge_to;
	if (to == cfqq || cfqq->merge_to)
		return;
	to->ref++;
	cfqq->merge_to = to;
	to->split = false;
}

/*
 * Insertion and merging
 */

/* A new I/O priority holds from this request on, for all that is queued. */
static void cfq_update_ioprio(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			      unsigned short ioprio, u64 now)
{
	unsigned int level;
	bool busy;

	if (likely(cfqq->ioprio == ioprio) || !cfqq->sync ||
	    cfqq == &cfqd->oom_queue || cfqq->users > 1)
		return;
	/* The rest of it is a hint, which is nothing to CFQ. */
	if (cfq_class(ioprio, &level) == cfqq->class && level == cfqq->level)
		return;
	if (cfqq == cfqd->active)
		cfq_expire(cfqd, now, CFQ_MOVED);
	busy = cfqq_busy(cfqq);
	if (busy)
		cfq_del_busy(cfqd, cfqq, now);
	cfq_set_ioprio(cfqq, ioprio);
	if (busy)
		cfq_add_busy(cfqd, cfqq, now, false);
}

static struct cfq_queue *cfq_request_queue(struct cfq_data *cfqd,
					   struct cfq_io_cq *cic,
					   struct request *rq, u64 now)
{
	struct cfq_group *cfqg = cfq_bio_group(cfqd, rq->bio);
	unsigned short ioprio = req_get_ioprio(rq);
	struct cfq_queue *cfqq;

	if (!rq_is_sync(rq))
		cfqq = cfq_get_async(cfqd, cfqg, ioprio);
	else if (cic)
		cfqq = cfq_get_sync(cfqd, cic, cfqg, ioprio, now);
	else
		cfqq = &cfqd->oom_queue;
	cfq_update_ioprio(cfqd, cfqq, ioprio, now);
	cfqq->ref++;
	rq->elv.priv[0] = cfqq;
	return cfqq;
}

static void cfq_queue_request(struct cfq_data *cfqd, struct cfq_queue *cfqq,
			      struct request *rq, u64 now)
{
	struct cfq_group *cfqg = cfqq->group;

	rq->fifo_time = now + cfqd->tune.fifo_expire[rq_is_sync(rq)];
	if (cfqq->sync) {
		cfq_update_ttimes(cfqd, cfqq, now);
		cfq_update_seeks(cfqd, cfqq, rq);
	}
	cfq_sort(cfqd, cfqq, rq);
	list_add_tail(&rq->queuelist, &cfqq->fifo);
	if (cfq_stats_on())
		cfq_stats_insert(cfqg, rq->cmd_flags, now);
	if (cfqq->sync)
		cfq_update_idle_worth(cfqd, cfqq, rq);
	if (cfqq->class != CFQ_IDLE)
		cfqd->other_served = now;
	if (!cfqq_busy(cfqq))
		cfq_add_busy(cfqd, cfqq, now, false);

	if (cfqq == cfqd->active) {
		if (cfqd->idle_until) {
			cfq_stats_idle_end(cfqg, now);
			cfqd->idle_until = 0;
		}
		cfq_release(cfqd);
	} else if (cfq_should_preempt(cfqd, cfqq, rq, now)) {
		cfq_preempt(cfqd, cfqq, now);
		cfq_release(cfqd);
	} else if (!cfqd->active || (cfqd->active->group == cfqg &&
				     !cfqq_has_requests(cfqd->active))) {
		/* If it was for the group that the device waited, it need not now. */
		cfq_release(cfqd);
	}
}

static void cfq_insert_request(struct cfq_data *cfqd, struct cfq_io_cq *cic,
			       struct request *rq, bool at_head, u64 now,
			       struct list_head *free)
{
	struct request_queue *q = cfqd->queue;
	struct cfq_queue *cfqq;

	if (blk_mq_sched_try_insert_merge(q, rq, free))
		return;
	trace_block_rq_insert(rq);

	/* Flushes, and what is none of a file system's, does not wait. */
	if (at_head || !(rq->rq_flags & RQF_ELVPRIV) || blk_rq_is_passthrough(rq)) {
		if (at_head)
			list_add(&rq->queuelist, &cfqd->dispatch);
		else
			list_add_tail(&rq->queuelist, &cfqd->dispatch);
		return;
	}

	/* One that comes back from the device has its queue already. */
	cfqq = rq_cfqq(rq) ?: cfq_request_queue(cfqd, cic, rq, now);
	cfq_queue_request(cfqd, cfqq, rq, now);
	/* The core joins discards that are queued without telling the scheduler. */
	if (rq_mergeable(rq) && !blk_queue_nomerges(q) && !blk_discard_mergable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static bool cfq_needs_cic(struct list_head *list)
{
	struct request *rq;

	list_for_each_entry(rq, list, queuelist)
		if ((rq->rq_flags & RQF_ELVPRIV) && !rq_cfqq(rq) && rq_is_sync(rq))
			return true;
	return false;
}

static void cfq_insert_requests(struct blk_mq_hw_ctx *hctx,
				struct list_head *list, bool at_head)
{
	struct request_queue *q = hctx->queue;
	struct cfq_data *cfqd = q->elevator->elevator_data;
	struct io_cq *icq = NULL;
	u64 now = blk_time_get_ns();
	LIST_HEAD(free);

	/* Once for all that the process submits at once; it takes queue_lock. */
	if (cfq_needs_cic(list))
		icq = ioc_find_get_icq(q);
	spin_lock_irq(&cfqd->lock);
	while (!list_empty(list)) {
		struct request *rq;

		rq = list_first_entry(list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		cfq_insert_request(cfqd, icq ? icq_to_cic(icq) : NULL, rq,
				   at_head, now, &free);
	}
	spin_unlock_irq(&cfqd->lock);
	if (icq)
		put_io_context(icq->ioc);
	blk_mq_free_requests(&free);
}

/* The queue that the bio's request would go to, if there is one; no new ones. */
static struct cfq_queue *cfq_bio_queue(struct cfq_data *cfqd,
				       struct cfq_io_cq *cic, struct bio *bio)
{
	struct cfq_group *cfqg = cfq_bio_group(cfqd, bio);
	struct cfq_queue *cfqq;

	if (!op_is_sync(bio->bi_opf))
		return *cfq_async_slot(cfqg, bio_prio(bio));
	cfqq = cic ? cic->sync : NULL;
	while (cfqq && cfqq->merge_to)
		cfqq = cfqq->merge_to;
	return cfqq && cfqq->group == cfqg ? cfqq : NULL;
}

static bool cfq_bio_merge(struct request_queue *q, struct bio *bio,
			  unsigned int nr_segs)
{
	struct cfq_data *cfqd = q->elevator->elevator_data;
	struct request *free = NULL;
	struct io_cq *icq = NULL;
	bool merged;

	if (!READ_ONCE(cfqd->nr_queued))
		return false;
	if (current->io_context && op_is_sync(bio->bi_opf)) {
		spin_lock_irq(&q->queue_lock);
		icq = ioc_lookup_icq(q);
		spin_unlock_irq(&q->queue_lock);
	}

	/* This task's icq does not go away while the task is here. */
	spin_lock_irq(&cfqd->lock);
	cfqd->bio_queue = cfq_bio_queue(cfqd, icq ? icq_to_cic(icq) : NULL, bio);
	merged = cfqd->bio_queue && blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	if (merged)
		cfq_stats_merged(cfqd->bio_queue->group, bio->bi_opf);
	spin_unlock_irq(&cfqd->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Only what is of the same queue: nobody is to pay, or to wait, for others. */
static bool cfq_allow_merge(struct request_queue *q, struct request *rq,
			    struct bio *bio)
{
	struct cfq_data *cfqd = q->elevator->elevator_data;

	return rq_cfqq(rq) == cfqd->bio_queue;
}

/* Something to merge with at its front; the core looks for the back by itself. */
static int cfq_request_merge(struct request_queue *q, struct request **req,
			     struct bio *bio)
{
	struct cfq_data *cfqd = q->elevator->elevator_data;
	struct request *rq;

	rq = elv_rb_find(&cfqd->bio_queue->sorted, bio_end_sector(bio));
	if (!rq || !elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;
	*req = rq;
	return blk_discard_mergable(rq) ? ELEVATOR_DISCARD_MERGE :
					  ELEVATOR_FRONT_MERGE;
}

/* What got a new first sector has to be sorted again. */
static void cfq_request_merged(struct request_queue *q, struct request *rq,
			       enum elv_merge type)
{
	struct cfq_data *cfqd = q->elevator->elevator_data;
	struct cfq_queue *cfqq = rq_cfqq(rq);

	if (type != ELEVATOR_FRONT_MERGE || !cfqq)
		return;
	/* In place: cfq_has_work() must not see that nothing is queued. */
	if (cfqq->next_rq == rq)
		cfqq->next_rq = cfq_next_request(cfqd, cfqq, rq);
	elv_rb_del(&cfqq->sorted, rq);
	elv_rb_add(&cfqq->sorted, rq);
	cfqq->next_rq = cfq_closer(cfqd, cfqq->next_rq, rq, cfqd->last_pos);
}

/* @next was added to the end of @rq, and is freed by the caller. */
static void cfq_requests_merged(struct request_queue *q, struct request *rq,
				struct request *next)
{
	struct cfq_data *cfqd = q->elevator->elevator_data;
	struct cfq_queue *cfqq = rq_cfqq(rq), *gone = rq_cfqq(next);

	if (!gone) {
		/* It was on its way in. */
		if (cfqq)
			cfq_stats_merged(cfqq->group, next->cmd_flags);
		return;
	}
	/* The earlier deadline of the two, and its place */
	if (cfqq == gone && time_before64(next->fifo_time, rq->fifo_time)) {
		list_move(&rq->queuelist, &next->queuelist);
		rq->fifo_time = next->fifo_time;
	}
	if (cfqq && cfqq->next_rq == next)
		cfqq->next_rq = rq;
	cfq_remove_request(cfqd, gone, next);
	cfq_stats_merged(gone->group, next->cmd_flags);
	/* Nothing left to do: it is busy only as long as it is the active one. */
	if (!cfqq_has_requests(gone) && gone != cfqd->active)
		cfq_del_busy(cfqd, gone, blk_time_get_ns());
	next->elv.priv[0] = NULL;
	cfq_put_queue(gone);
}

static void cfq_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct cfq_data *cfqd = data->q->elevator->elevator_data;

	/* Buffered writers cannot take the requests that readers need. */
	if (!op_is_sync(opf))
		data->shallow_depth = cfqd->async_depth;
}

static void cfq_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct cfq_data *cfqd = hctx->queue->elevator->elevator_data;
	struct sbitmap_queue *tags = &hctx->sched_tags->bitmap_tags;
	unsigned int word = min(1U << tags->sb.shift, tags->sb.depth);

	cfqd->async_depth = max(word / 2, 1U);
	sbitmap_queue_min_shallow_depth(tags, cfqd->async_depth);
}

static int cfq_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	cfq_depth_updated(hctx);
	return 0;
}

/*
 * Who is served next
 */

/* Whose first queue has waited longest */
static enum cfq_workload cfq_oldest_workload(struct cfq_group *cfqg,
					     enum cfq_class class)
{
	struct cfq_queue *oldest = NULL;
	enum cfq_workload wl, best = CFQ_SYNC;

	for (wl = 0; wl < CFQ_WORKLOADS; wl++) {
		struct cfq_queue *first;

		first = list_first_entry_or_null(&cfqg->queues[class][wl],
						 struct cfq_queue, node);
		if (!first || (oldest && !time_before64(first->since, oldest->since)))
			continue;
		oldest = first;
		best = wl;
	}
	return best;
}

/* Its part of the group's time, by the number of queues */
static u64 cfq_workload_slice(struct cfq_data *cfqd, struct cfq_group *cfqg,
			      enum cfq_class class, enum cfq_workload wl)
{
	const struct cfq_tunables *tune = &cfqd->tune;
	u64 slice = mul_u64_u64_div_u64(cfq_group_slice(cfqd, cfqg),
					cfqg->wl_count[class][wl],
					max(cfq_count_busy(cfqg, class), 1U));

	if (wl == CFQ_ASYNC)
		slice = mul_u64_u64_div_u64(slice, tune->slice[0],
					    max(tune->slice[0], tune->slice[1]));
	else
		slice = max(slice, 2 * tune->slice_idle);
	return max_t(u64, slice, CFQ_WORKLOAD_MIN_NS);
}

static void cfq_choose_workload(struct cfq_data *cfqd, struct cfq_group *cfqg,
				u64 now)
{
	enum cfq_class class = cfqg->class_busy[CFQ_RT] ? CFQ_RT : CFQ_BE;

	if (class == cfqd->active_class &&
	    cfqg->wl_count[class][cfqd->active_workload] &&
	    time_before64(now, cfqd->workload_end))
		return;
	cfqd->active_class = class;
	cfqd->active_workload = cfq_oldest_workload(cfqg, class);
	cfqd->workload_end = now + cfq_workload_slice(cfqd, cfqg, class,
						      cfqd->active_workload);
}

/* When may the class IDLE be served? Not, unless one of its queues is busy. */
static u64 cfq_idle_class_turn(const struct cfq_data *cfqd)
{
	u64 latest = cfqd->idle_served + CFQ_IDLE_MAX_WAIT_NS;
	u64 quiet = cfqd->other_served + CFQ_IDLE_GRACE_NS;

	if (RB_EMPTY_ROOT(&cfqd->groups.rb_root) && time_before64(quiet, latest))
		return quiet;
	return latest;
}

static struct cfq_queue *cfq_next_queue(struct cfq_data *cfqd, u64 now)
{
	struct cfq_group *cfqg = cfq_first_group(cfqd);

	if (!list_empty(&cfqd->idle_queues)) {
		u64 turn = cfq_idle_class_turn(cfqd);

		if (!time_before64(now, turn))
			return list_first_entry(&cfqd->idle_queues,
						struct cfq_queue, node);
		if (!cfqg)
			hrtimer_start(&cfqd->idle_timer, ns_to_ktime(turn),
				      HRTIMER_MODE_ABS);
	}
	if (!cfqg)
		return NULL;
	cfq_switch_group(cfqd, cfqg, now);
	cfq_choose_workload(cfqd, cfqg, now);
	return list_first_entry(&cfqg->queues[cfqd->active_class][cfqd->active_workload],
				struct cfq_queue, node);
}

/* The timer runs on where the wait ends early; it finds out when it fires. */
static void cfq_start_idling(struct cfq_data *cfqd, u64 now, u64 wait)
{
	cfqd->idle_until = now + wait ?: 1;
	cfq_stats_idle(cfqd->active->group, now);
	if (!hrtimer_is_queued(&cfqd->idle_timer) ||
	    time_after64((u64)hrtimer_get_expires_ns(&cfqd->idle_timer),
			 cfqd->idle_until))
		hrtimer_start(&cfqd->idle_timer, ns_to_ktime(cfqd->idle_until),
			      HRTIMER_MODE_ABS);
}

/* Does the device wait for the active queue, which has no request to dispatch? */
static bool cfq_waits_for_active(struct cfq_data *cfqd, u64 now)
{
	struct cfq_queue *cfqq = cfqd->active;

	if (cfqd->idle_until)
		return time_before64(now, cfqd->idle_until);
	if (cfqq->dispatched && cfq_should_idle(cfqd, cfqq))
		return true;
	return cfqq->group->dispatched && cfq_group_wait(cfqd, cfqq, now);
}

/* Is it only BE and IDLE that would be served instead? They get nothing from RT. */
static bool cfq_only_rt(const struct cfq_data *cfqd, const struct cfq_queue *cfqq)
{
	return cfqq->class == CFQ_RT && cfqq->group->class_busy[CFQ_RT] == 1 &&
	       !cfq_other_group(cfqd, cfqq->group);
}

/* All of the active queue's requests are done: is it worth it to wait for more? */
static void cfq_arm_idling(struct cfq_data *cfqd, u64 now)
{
	struct cfq_queue *cfqq = cfqd->active;
	u64 left = blk_time_elapsed(cfqd->slice.end, now);

	if (cfq_only_rt(cfqd, cfqq))
		left = cfqd->tune.slice_idle;
	/* Not for the queue if its next request comes after the end of its slice. */
	if (cfq_should_idle(cfqd, cfqq) && !cfq_ttime_long(&cfqq->ttime, left)) {
		if (!cfqq->dispatched)
			cfq_start_idling(cfqd, now, cfqd->tune.slice_idle);
	} else if (!cfqq->group->dispatched) {
		u64 wait = cfq_group_wait(cfqd, cfqq, now);

		if (wait)
			cfq_start_idling(cfqd, now, wait);
	}
}

static struct cfq_queue *cfq_select_queue(struct cfq_data *cfqd, u64 now)
{
	struct cfq_queue *cfqq = cfqd->active;
	enum cfq_reason reason = CFQ_EMPTY;

	if (!cfqq)
		goto next;
	if (cfqq_has_requests(cfqq)) {
		if (cfqq->must_dispatch ||
		    !(cfqd->slice.one_request || cfq_slice_over(cfqd, now)))
			return cfqq;
		if (!cfqd->slice.one_request)
			reason = CFQ_USED_UP;
	} else if (cfq_waits_for_active(cfqd, now)) {
		return NULL;
	} else if (cfqd->idle_until) {
		reason = CFQ_NOT_BACK;
	}
	cfq_expire(cfqd, now, reason);
next:
	cfqq = cfq_next_queue(cfqd, now);
	if (cfqq)
		cfq_set_active(cfqd, cfqq, now);
	return cfqq;
}

/* How many async requests are good for the device, long after the last sync one */
static unsigned int cfq_async_limit(const struct cfq_data *cfqd, u64 now,
				    unsigned int limit)
{
	u64 quiet = blk_time_elapsed(now, cfqd->last_sync_end);
	u64 depth = div64_u64(quiet, cfqd->tune.slice[1]);

	if (!cfqd->tune.low_latency)
		return limit;
	return clamp_t(u64, depth, 1, limit);
}

/* Is there room in the device for one more of @cfqq? A completion makes some. */
static bool cfq_may_dispatch(const struct cfq_data *cfqd,
			     const struct cfq_queue *cfqq, u64 now)
{
	unsigned int limit = cfqd->tune.quantum;

	/* Readers that are worth idling for do not wait behind writers. */
	if (cfqd->in_driver > cfqd->sync_in_driver && cfq_should_idle(cfqd, cfqq))
		return false;
	if (!cfqq->sync && cfqd->sync_in_driver)
		return false;

	if (cfqq->class == CFQ_IDLE)
		limit = 1;
	else if (cfqd->nr_busy == 1)
		limit = UINT_MAX;
	if (!cfqq->sync)
		limit = cfq_async_limit(cfqd, now, limit);
	return cfqq->dispatched < limit;
}

/* Once in a slice, a request that is late goes before the closest one. */
static struct request *cfq_late_request(struct cfq_queue *cfqq, u64 now)
{
	struct request *rq;

	if (cfqq->fifo_checked)
		return NULL;
	cfqq->fifo_checked = true;
	rq = list_first_entry_or_null(&cfqq->fifo, struct request, queuelist);
	return rq && time_after64(now, rq->fifo_time) ? rq : NULL;
}

static void cfq_count_dispatched(struct cfq_data *cfqd, struct cfq_queue *cfqq,
				 struct request *rq, int by)
{
	rq->elv.priv[1] = by > 0 ? (void *)cfqd->slice_nr : NULL;
	cfqq->dispatched += by;
	cfqq->group->dispatched += by;
	cfqd->in_driver += by;
	if (cfqd->in_driver >= CFQ_NCQ_DEPTH &&
	    cfqd->queue->tag_set->queue_depth >= CFQ_NCQ_DEPTH)
		cfqd->ncq = true;
	if (rq_is_sync(rq))
		cfqd->sync_in_driver += by;
}

static struct request *cfq_take_request(struct cfq_data *cfqd,
					struct cfq_queue *cfqq, u64 now)
{
	struct request *rq = cfq_late_request(cfqq, now) ?: cfqq->next_rq;

	cfq_remove_request(cfqd, cfqq, rq);
	cfqd->last_pos = cfq_end_sector(rq);
	cfq_count_dispatched(cfqd, cfqq, rq, 1);
	cfqd->slice.dispatched++;
	cfqq->must_dispatch = false;
	rq->io_start_time_ns = now;
	if (cfq_stats_on())
		cfq_stats_dispatch(cfqq->group, rq, now);
	return rq;
}

/* Some kinds of queues have had enough after one request, or a few. */
static void cfq_end_of_turn(struct cfq_data *cfqd, struct cfq_queue *cfqq, u64 now)
{
	u64 async_max = 2ULL * cfqd->tune.slice_async_rq *
			(IOPRIO_NR_LEVELS - cfqq->level);

	/* Alone, unless others that compete for the device will be back in a moment */
	cfq_drop_empty_groups(cfqd, now);
	if (cfqd->nr_busy == 1 &&
	    (cfqq->class == CFQ_IDLE || list_empty(&cfqd->empty_groups)))
		return;
	if (cfqq->class == CFQ_IDLE) {
		cfq_expire(cfqd, now, CFQ_ONE_FROM_IDLE);
	} else if (!cfqq->sync && cfqd->slice.dispatched >= async_max) {
		cfq_expire(cfqd, now, CFQ_ASYNC_ENOUGH);
		/* Not once more as long as others wait. */
		cfqd->workload_end = now;
	} else if (!cfqq_has_requests(cfqq)) {
		if (!cfq_waits_for_active(cfqd, now))
			cfq_expire(cfqd, now, CFQ_EMPTY);
		else if (!cfq_should_idle(cfqd, cfqq))
			cfqd->slice.one_request = cfqq->busy_workload == CFQ_SEEKY;
	}
}

static struct request *__cfq_dispatch_request(struct cfq_data *cfqd)
{
	struct cfq_queue *cfqq;
	struct request *rq;
	u64 now;

	rq = list_first_entry_or_null(&cfqd->dispatch, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
		cfqq = rq_cfqq(rq);
		if (cfqq)
			cfq_count_dispatched(cfqd, cfqq, rq, 1);
		return rq;
	}
	if (!cfqd->nr_queued)
		return NULL;

	now = blk_time_get_ns();
	cfqq = cfq_select_queue(cfqd, now);
	if (!cfqq || !cfq_may_dispatch(cfqd, cfqq, now)) {
		WRITE_ONCE(cfqd->held_back, true);
		return NULL;
	}
	rq = cfq_take_request(cfqd, cfqq, now);
	cfq_end_of_turn(cfqd, cfqq, now);
	return rq;
}

static struct request *cfq_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct cfq_data *cfqd = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock_irq(&cfqd->lock);
	rq = __cfq_dispatch_request(cfqd);
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	spin_unlock_irq(&cfqd->lock);
	return rq;
}

/* Without the lock: who makes it true runs the queue afterwards. */
static bool cfq_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct cfq_data *cfqd = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&cfqd->dispatch) ||
	       (READ_ONCE(cfqd->nr_queued) && !READ_ONCE(cfqd->held_back));
}

/*
 * Completion
 */

/*
 * The active queue has got something done: its clock starts, or its time is over.
 * What was still in the device from its last slice starts no clock, or those who
 * are served twice in a row would pay more than others.
 */
static void cfq_active_completed(struct cfq_data *cfqd, struct cfq_queue *cfqq,
				 unsigned long slice, u64 now)
{
	struct cfq_queue *other;

	if (!cfqd->slice.start && slice == cfqd->slice_nr)
		cfq_start_slice(cfqd, cfqq, now);
	if (cfqq_has_requests(cfqq)) {
		if (cfq_slice_over(cfqd, now) && !cfqq->must_dispatch)
			cfq_expire(cfqd, now, CFQ_USED_UP);
		return;
	}
	if (cfq_slice_over(cfqd, now) && !cfq_group_wait(cfqd, cfqq, now) &&
	    !cfq_only_rt(cfqd, cfqq)) {
		cfq_expire(cfqd, now, CFQ_USED_UP);
		return;
	}
	other = cfqq->dispatched ? NULL : cfq_close_queue(cfqd, cfqq);
	if (other) {
		cfq_merge_queues(cfqq, other);
		cfq_expire(cfqd, now, CFQ_COOPERATES);
		cfq_set_active(cfqd, other, now);
		return;
	}
	if (!cfqd->idle_until)
		cfq_arm_idling(cfqd, now);
	/* What follows now is not its time. */
	if (!cfqq->dispatched && !cfq_waits_for_active(cfqd, now))
		cfq_expire(cfqd, now, CFQ_EMPTY);
}

/* True if there may be something to dispatch now. */
static bool __cfq_completed_request(struct cfq_data *cfqd, struct cfq_queue *cfqq,
				    struct request *rq, u64 now)
{
	bool shared_bad = cfqq->users > 1 && cfqq_seeky(cfqq);
	unsigned long slice = rq_slice(rq);

	cfq_count_dispatched(cfqd, cfqq, rq, -1);
	if (cfq_stats_on())
		cfq_stats_completed(cfqq->group, rq, now);
	if (cfqq->class != CFQ_IDLE)
		cfqd->other_served = now;
	cfq_group_served(cfqd, cfqq->group, now);
	if (rq_is_sync(rq)) {
		cfqd->last_sync_end = now;
		cfqq->ttime.last_end = now;
		cfqq->group->ttime.last_end = now;
		if (cfqq->class != CFQ_IDLE && !cfqq->idle_worth)
			cfqq->group->seeky_ttime[cfqq->class].last_end = now;
	}
	if (shared_bad)
		cfqq->split = true;
	if (cfqq == cfqd->active)
		cfq_active_completed(cfqd, cfqq, slice, now);
	rq->elv.priv[0] = NULL;
	cfq_put_queue(cfqq);
	return cfq_release(cfqd);
}

static void cfq_kick(struct cfq_data *cfqd)
{
	blk_mq_run_hw_queues(cfqd->queue, true);
}

static void cfq_completed_request(struct request *rq, u64 now)
{
	struct cfq_data *cfqd = rq->q->elevator->elevator_data;
	struct cfq_queue *cfqq = rq_cfqq(rq);
	unsigned long flags;
	bool kick;

	if (!cfqq || !rq_slice(rq))
		return;
	spin_lock_irqsave(&cfqd->lock, flags);
	kick = __cfq_completed_request(cfqd, cfqq, rq, now);
	spin_unlock_irqrestore(&cfqd->lock, flags);
	if (kick)
		cfq_kick(cfqd);
}

/*
 * The device gave it back, and it is inserted again. What the driver has prepared
 * goes to the device without coming by here, so it counts as if it never left it.
 */
static void cfq_requeue_request(struct request *rq)
{
	struct cfq_data *cfqd = rq->q->elevator->elevator_data;
	struct cfq_queue *cfqq = rq_cfqq(rq);
	unsigned long flags;

	if (!cfqq || !rq_slice(rq) || (rq->rq_flags & RQF_DONTPREP))
		return;
	spin_lock_irqsave(&cfqd->lock, flags);
	cfq_count_dispatched(cfqd, cfqq, rq, -1);
	cfq_release(cfqd);
	spin_unlock_irqrestore(&cfqd->lock, flags);
	/* A queue that waits for it alone must not wait for good. */
	cfq_kick(cfqd);
}

/* What was merged, or ends without a completion, still has its queue. */
static void cfq_finish_request(struct request *rq)
{
	struct cfq_data *cfqd = rq->q->elevator->elevator_data;
	struct cfq_queue *cfqq = rq_cfqq(rq);
	unsigned long flags;
	bool kick;

	if (!cfqq)
		return;
	spin_lock_irqsave(&cfqd->lock, flags);
	if (rq_slice(rq))
		cfq_count_dispatched(cfqd, cfqq, rq, -1);
	rq->elv.priv[0] = NULL;
	cfq_put_queue(cfqq);
	kick = cfq_release(cfqd);
	spin_unlock_irqrestore(&cfqd->lock, flags);
	if (kick)
		cfq_kick(cfqd);
}

static void cfq_prepare_request(struct request *rq)
{
	rq->elv.priv[0] = NULL;
	rq->elv.priv[1] = NULL;
}

/* The wait is over, or has to go on, or it is the class IDLE's turn. */
static enum hrtimer_restart cfq_idle_timer(struct hrtimer *timer)
{
	struct cfq_data *cfqd = container_of(timer, struct cfq_data, idle_timer);
	u64 now = ktime_get_ns();
	unsigned long flags;
	bool kick = false;

	spin_lock_irqsave(&cfqd->lock, flags);
	if (cfqd->idle_until && time_before64(now, cfqd->idle_until)) {
		hrtimer_start(timer, ns_to_ktime(cfqd->idle_until), HRTIMER_MODE_ABS);
	} else {
		if (cfqd->idle_until)
			cfq_expire(cfqd, now, CFQ_NOT_BACK);
		kick = cfq_release(cfqd) && cfqd->nr_queued;
	}
	spin_unlock_irqrestore(&cfqd->lock, flags);
	if (kick)
		cfq_kick(cfqd);
	return HRTIMER_NORESTART;
}

/* The process exits, or the scheduler does. ioc->lock is held, interrupts are off. */
static void cfq_exit_icq(struct io_cq *icq)
{
	struct cfq_data *cfqd = icq->q->elevator->elevator_data;
	struct cfq_io_cq *cic = icq_to_cic(icq);
	struct cfq_queue *cfqq = cic->sync;
	unsigned long flags;
	bool kick = false;

	if (!cfqq)
		return;
	spin_lock_irqsave(&cfqd->lock, flags);
	/* Nobody is left to wait for. */
	if (cfqq == cfqd->active && cfqq->users == 1 && !cfqq_has_requests(cfqq)) {
		cfq_expire(cfqd, blk_time_get_ns(), CFQ_EMPTY);
		kick = cfq_release(cfqd);
	}
	cfq_drop_sync(cic);
	spin_unlock_irqrestore(&cfqd->lock, flags);
	if (kick)
		cfq_kick(cfqd);
}

/*
 * Tunables
 */

static int cfq_parse(const char *page, u64 min, u64 max, u64 *val)
{
	int ret = kstrtou64(page, 10, val);

	if (!ret)
		*val = clamp(*val, min, max);
	return ret;
}

/* What is in tune.FIELD is UNIT times what is seen. */
#define CFQ_TUNABLE(name, field, unit, min, max)			\
static ssize_t cfq_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	struct cfq_data *cfqd = e->elevator_data;			\
									\
	return sysfs_emit(page, "%llu\n", div_u64(cfqd->tune.field, unit)); \
}									\
									\
static ssize_t cfq_##name##_store(struct elevator_queue *e,		\
				  const char *page, size_t count)	\
{									\
	struct cfq_data *cfqd = e->elevator_data;			\
	u64 val;							\
	int ret = cfq_parse(page, min, max, &val);			\
									\
	if (ret)							\
		return ret;						\
	spin_lock_irq(&cfqd->lock);					\
	cfqd->tune.field = val * (unit);				\
	spin_unlock_irq(&cfqd->lock);					\
	return count;							\
}

CFQ_TUNABLE(quantum, quantum, 1, 1, UINT_MAX);
CFQ_TUNABLE(fifo_expire_sync, fifo_expire[1], NSEC_PER_MSEC, 1, UINT_MAX);
CFQ_TUNABLE(fifo_expire_async, fifo_expire[0], NSEC_PER_MSEC, 1, UINT_MAX);
CFQ_TUNABLE(back_seek_max, back_max, 2, 0, INT_MAX);
CFQ_TUNABLE(back_seek_penalty, back_penalty, 1, 1, UINT_MAX);
CFQ_TUNABLE(slice_sync, slice[1], NSEC_PER_MSEC, 1, UINT_MAX);
CFQ_TUNABLE(slice_sync_us, slice[1], NSEC_PER_USEC, 1, UINT_MAX);
CFQ_TUNABLE(slice_async, slice[0], NSEC_PER_MSEC, 1, UINT_MAX);
CFQ_TUNABLE(slice_async_us, slice[0], NSEC_PER_USEC, 1, UINT_MAX);
CFQ_TUNABLE(slice_async_rq, slice_async_rq, 1, 1, UINT_MAX);
CFQ_TUNABLE(slice_idle, slice_idle, NSEC_PER_MSEC, 0, UINT_MAX);
CFQ_TUNABLE(slice_idle_us, slice_idle, NSEC_PER_USEC, 0, UINT_MAX);
CFQ_TUNABLE(group_idle, group_idle, NSEC_PER_MSEC, 0, UINT_MAX);
CFQ_TUNABLE(group_idle_us, group_idle, NSEC_PER_USEC, 0, UINT_MAX);
CFQ_TUNABLE(low_latency, low_latency, 1, 0, 1);
CFQ_TUNABLE(target_latency, target_latency, NSEC_PER_MSEC, 1, UINT_MAX);
CFQ_TUNABLE(target_latency_us, target_latency, NSEC_PER_USEC, 1, UINT_MAX);
CFQ_TUNABLE(slice_charge_min_ns, charge_min, 1, 0, NSEC_PER_SEC);

#define CFQ_ATTR(name) __ATTR(name, 0644, cfq_##name##_show, cfq_##name##_store)
static struct elv_fs_entry cfq_attrs[] = {
	CFQ_ATTR(quantum),
	CFQ_ATTR(fifo_expire_sync),
	CFQ_ATTR(fifo_expire_async),
	CFQ_ATTR(back_seek_max),
	CFQ_ATTR(back_seek_penalty),
	CFQ_ATTR(slice_sync),
	CFQ_ATTR(slice_sync_us),
	CFQ_ATTR(slice_async),
	CFQ_ATTR(slice_async_us),
	CFQ_ATTR(slice_async_rq),
	CFQ_ATTR(slice_idle),
	CFQ_ATTR(slice_idle_us),
	CFQ_ATTR(group_idle),
	CFQ_ATTR(group_idle_us),
	CFQ_ATTR(low_latency),
	CFQ_ATTR(target_latency),
	CFQ_ATTR(target_latency_us),
	CFQ_ATTR(slice_charge_min_ns),
	__ATTR_NULL
};

#ifdef CONFIG_BLK_DEBUG_FS
static unsigned int cfq_count_list(const struct list_head *queues)
{
	const struct cfq_queue *cfqq;
	unsigned int count = 0;

	list_for_each_entry(cfqq, queues, node)
		count += cfqq->queued;
	return count;
}

/* Requests in queues, by class */
static int cfq_queued_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct cfq_data *cfqd = q->elevator->elevator_data;
	unsigned int count[CFQ_CLASSES] = {};
	struct rb_node *node;
	int class, wl;

	spin_lock_irq(&cfqd->lock);
	for (node = rb_first_cached(&cfqd->groups); node; node = rb_next(node)) {
		struct cfq_group *cfqg = rb_entry(node, struct cfq_group, node);

		for (class = 0; class < CFQ_IDLE; class++)
			for (wl = 0; wl < CFQ_WORKLOADS; wl++)
				count[class] += cfq_count_list(&cfqg->queues[class][wl]);
	}
	count[CFQ_IDLE] = cfq_count_list(&cfqd->idle_queues);
	spin_unlock_irq(&cfqd->lock);
	seq_printf(m, "%u %u %u\n", count[CFQ_RT], count[CFQ_BE], count[CFQ_IDLE]);
	return 0;
}

/* Requests in the device: sync, async */
static int cfq_dispatched_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct cfq_data *cfqd = q->elevator->elevator_data;

	spin_lock_irq(&cfqd->lock);
	seq_printf(m, "%u %u\n", cfqd->sync_in_driver,
		   cfqd->in_driver - cfqd->sync_in_driver);
	spin_unlock_irq(&cfqd->lock);
	return 0;
}

/* How long the device still waits for the active queue, ns */
static int cfq_idling_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct cfq_data *cfqd = q->elevator->elevator_data;

	spin_lock_irq(&cfqd->lock);
	seq_printf(m, "%llu\n", cfqd->idle_until ?
		   blk_time_elapsed(cfqd->idle_until, ktime_get_ns()) : 0);
	spin_unlock_irq(&cfqd->lock);
	return 0;
}

static int cfq_active_show(void *data, struct seq_file *m)
{
	static const char * const classes[] = { "rt", "be", "idle" };
	static const char * const workloads[] = { "async", "seeky", "sync" };
	struct request_queue *q = data;
	struct cfq_data *cfqd = q->elevator->elevator_data;
	const struct cfq_queue *cfqq;

	spin_lock_irq(&cfqd->lock);
	cfqq = cfqd->active;
	if (cfqq)
		seq_printf(m, "pid %d %s/%u %s queued %u dispatched %u\n",
			   cfqq->pid, classes[cfqq->class], cfqq->level,
			   workloads[cfqq->busy_workload],
			   cfqq->queued, cfqq->dispatched);
	else
		seq_puts(m, "none\n");
	spin_unlock_irq(&cfqd->lock);
	return 0;
}

static const struct blk_mq_debugfs_attr cfq_debugfs_attrs[] = {
	{"queued", 0400, cfq_queued_show},
	{"dispatched", 0400, cfq_dispatched_show},
	{"idling", 0400, cfq_idling_show},
	{"active", 0400, cfq_active_show},
	{},
};
#endif

/*
 * Start and end
 */

#ifndef CONFIG_CFQ_GROUP_IOSCHED
int cfq_cgroup_activate(struct cfq_data *cfqd)
{
	cfqd->root = kzalloc_node(sizeof(*cfqd->root), GFP_KERNEL,
				  cfqd->queue->node);
	if (!cfqd->root)
		return -ENOMEM;
	cfq_group_init(cfqd->root, CGROUP_WEIGHT_DFL);
	return 0;
}

void cfq_cgroup_deactivate(struct cfq_data *cfqd)
{
	spin_lock_irq(&cfqd->lock);
	cfq_group_offline(cfqd, cfqd->root);
	spin_unlock_irq(&cfqd->lock);
	kfree(cfqd->root);
}
#endif

static void cfq_init_tunables(struct cfq_data *cfqd)
{
	bool nonrot = blk_queue_nonrot(cfqd->queue);

	cfqd->tune = (struct cfq_tunables) {
		.slice_idle	= nonrot ? 0 : 8 * NSEC_PER_MSEC,
		.group_idle	= 8 * NSEC_PER_MSEC,
		.slice		= { 40 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC },
		.fifo_expire	= { 250 * NSEC_PER_MSEC, 125 * NSEC_PER_MSEC },
		.target_latency	= 300 * NSEC_PER_MSEC,
		.charge_min	= 1,
		.quantum	= 8,
		.slice_async_rq	= 2,
		.back_max	= 16 * 1024 * 2,
		.back_penalty	= 2,
		.low_latency	= 1,
	};
}

static void cfq_init_data(struct cfq_data *cfqd, struct request_queue *q)
{
	cfqd->queue = q;
	spin_lock_init(&cfqd->lock);
	INIT_LIST_HEAD(&cfqd->dispatch);
	INIT_LIST_HEAD(&cfqd->empty_groups);
	INIT_LIST_HEAD(&cfqd->idle_queues);
	hrtimer_init(&cfqd->idle_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	cfqd->idle_timer.function = cfq_idle_timer;
	cfq_init_tunables(cfqd);
}

static int cfq_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct cfq_data *cfqd;
	int ret = -ENOMEM;

	if (!eq)
		return ret;
	cfqd = kzalloc_node(sizeof(*cfqd), GFP_KERNEL, q->node);
	if (!cfqd)
		goto put;
	cfq_init_data(cfqd, q);
	eq->elevator_data = cfqd;

	/* blk-cgroup asks for the groups' data right away. */
	spin_lock_irq(&q->queue_lock);
	q->elevator = eq;
	spin_unlock_irq(&q->queue_lock);
	ret = cfq_cgroup_activate(cfqd);
	if (ret)
		goto free;

	cfq_init_queue(cfqd, &cfqd->oom_queue, cfqd->root, true,
		       IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_NR_LEVELS - 1));
	cfqd->oom_queue.idle_worth = false;
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	wbt_disable_default(q);
	return 0;

free:
	kfree(cfqd);
put:
	kobject_put(&eq->kobj);
	return ret;
}

/* No request is left, and no process has a queue any more. */
static void cfq_exit_sched(struct elevator_queue *e)
{
	struct cfq_data *cfqd = e->elevator_data;
	struct request_queue *q = cfqd->queue;

	hrtimer_cancel(&cfqd->idle_timer);
	WARN_ON_ONCE(cfqd->nr_queued || cfqd->in_driver);
	cfq_cgroup_deactivate(cfqd);
	wbt_enable_default(q);
	kfree(cfqd);
}

static struct elevator_type cfq_elevator = {
	.ops = {
		.init_sched		= cfq_init_sched,
		.exit_sched		= cfq_exit_sched,
		.init_hctx		= cfq_init_hctx,
		.depth_updated		= cfq_depth_updated,
		.limit_depth		= cfq_limit_depth,
		.allow_merge		= cfq_allow_merge,
		.bio_merge		= cfq_bio_merge,
		.request_merge		= cfq_request_merge,
		.request_merged		= cfq_request_merged,
		.requests_merged	= cfq_requests_merged,
		.former_request		= elv_rb_former_request,
		.next_request		= elv_rb_latter_request,
		.prepare_request	= cfq_prepare_request,
		.insert_requests	= cfq_insert_requests,
		.dispatch_request	= cfq_dispatch_request,
		.has_work		= cfq_has_work,
		.completed_request	= cfq_completed_request,
		.requeue_request	= cfq_requeue_request,
		.finish_request		= cfq_finish_request,
		.exit_icq		= cfq_exit_icq,
	},
	.icq_size	= sizeof(struct cfq_io_cq),
	.icq_align	= __alignof__(struct cfq_io_cq),
	.elevator_attrs	= cfq_attrs,
	.elevator_name	= "cfq",
	.elevator_owner	= THIS_MODULE,
#ifdef CONFIG_BLK_DEBUG_FS
	.queue_debugfs_attrs = cfq_debugfs_attrs,
#endif
};
MODULE_ALIAS("cfq-iosched");

static int __init cfq_init(void)
{
	int ret;

	cfq_queue_cache = KMEM_CACHE(cfq_queue, 0);
	if (!cfq_queue_cache)
		return -ENOMEM;
	ret = cfq_cgroup_register();
	if (ret)
		goto free;
	ret = elv_register(&cfq_elevator);
	if (ret)
		goto unregister;
	return 0;

unregister:
	cfq_cgroup_unregister();
free:
	kmem_cache_destroy(cfq_queue_cache);
	return ret;
}

static void __exit cfq_exit(void)
{
	elv_unregister(&cfq_elevator);
	cfq_cgroup_unregister();
	kmem_cache_destroy(cfq_queue_cache);
}

module_init(cfq_init);
module_exit(cfq_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("CFQ I/O scheduler");
