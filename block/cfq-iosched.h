/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CFQ for blk-mq: what its files share. See Documentation/block/cfq-iosched.rst.
 *
 * All times are CLOCK_MONOTONIC in ns, and may be behind one that is stored
 * already: elapsed time is taken with blk_time_elapsed(), order with
 * time_after64() and time_before64().
 */
#ifndef _CFQ_IOSCHED_H
#define _CFQ_IOSCHED_H

#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/hrtimer.h>
#include <linux/ioprio.h>
#include <linux/iocontext.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>

#include "blk-cgroup.h"

/* Classes of I/O priority, in the order in which they are served */
enum cfq_class {
	CFQ_RT,
	CFQ_BE,
	CFQ_IDLE,
	CFQ_CLASSES,
};

/* What is served together in a slice of its own, within a class of a group */
enum cfq_workload {
	CFQ_ASYNC,	/* writes that nobody waits for */
	CFQ_SEEKY,	/* sync, and not worth idling for one by one */
	CFQ_SYNC,	/* sync, each worth idling for */
	CFQ_WORKLOADS,
};

/* A request of this size or more is not a seek, however far it is (sectors) */
#define CFQ_BIG_REQUEST	64
/* What is farther from the last request than this, is a seek (sectors) */
#define CFQ_SEEK_THR	(8 * 1024)

/* So many samples, in 1/256, and a think time is known */
#define CFQ_TTIME_VALID	80

/* Nobody thinks longer; decaying sums of this do not overflow. */
#define CFQ_TTIME_MAX_NS	(3600ULL * NSEC_PER_SEC)

/* All of the device, in the unit of cfq_group_share() */
enum {
	CFQ_SHARE_SHIFT	= 20,
	CFQ_SHARE_ALL	= 1 << CFQ_SHARE_SHIFT,
};

/* One request in the currency of time, where requests are what is charged */
#define CFQ_REQUEST_CHARGE	((u64)NSEC_PER_MSEC)

struct cfq_data;
struct cfq_queue;

/**
 * struct cfq_ttime - how long somebody thinks between two requests
 * @last_end: when the last request completed
 * @samples: how many, in 1/256, decaying
 * @total: sum of what was seen, in 1/256 ns, decaying
 * @mean: ns
 */
struct cfq_ttime {
	u64 last_end;
	unsigned int samples;
	u64 total;
	u64 mean;
};

/**
 * struct cfq_tunables - what is in /sys/block/X/queue/iosched
 * @slice_idle: longest wait for the next request of a queue, ns
 * @group_idle: longest wait for the next request of a group, ns
 * @slice: base slice by sync, ns
 * @fifo_expire: when a request is late, by sync, ns after its insertion
 * @target_latency: all queues are to be served within, ns
 * @charge_min: smallest charge for a slice, ns
 * @quantum: requests of a queue in the device at once
 * @slice_async_rq: requests of an async queue in a slice, times 2 * (8 - level)
 * @back_max: farthest seek backwards, sectors
 * @back_penalty: what a seek backwards costs, in seeks forwards
 * @low_latency: adapt slices to @target_latency
 */
struct cfq_tunables {
	u64 slice_idle;
	u64 group_idle;
	u64 slice[2];
	u64 fifo_expire[2];
	u64 target_latency;
	u64 charge_min;
	unsigned int quantum;
	unsigned int slice_async_rq;
	unsigned int back_max;
	unsigned int back_penalty;
	unsigned int low_latency;
};

/**
 * struct cfq_slice - how far the slice of the active queue is
 * @dispatch_start: when the queue was made the active one
 * @start: when its first request completed, 0 before
 * @end: when it is used up, 0 before @start
 * @allocated: how much it was given, ns
 * @charged_until: what was before has been charged already
 * @dispatched: requests dispatched in it
 * @one_request: what comes while the device waits for the group is of the next
 *	slice, and this one pays for all of its time
 */
struct cfq_slice {
	u64 dispatch_start;
	u64 start;
	u64 end;
	u64 allocated;
	u64 charged_until;
	unsigned int dispatched;
	bool one_request;
};

/* Sums of reads, writes, sync and async, as cgroup v1 shows them */
enum cfq_rwstat {
	CFQ_STAT_READ,
	CFQ_STAT_WRITE,
	CFQ_STAT_SYNC,
	CFQ_STAT_ASYNC,
	CFQ_STAT_DISCARD,
	CFQ_STAT_RWS,
};

/* Statistics by kind of request */
enum cfq_rwstat_id {
	CFQ_ST_SERVICE_BYTES,
	CFQ_ST_SERVICED,
	CFQ_ST_SERVICE_TIME,	/* ns, from dispatch to completion */
	CFQ_ST_WAIT_TIME,	/* ns, from allocation to dispatch */
	CFQ_ST_MERGED,
	CFQ_ST_QUEUED,		/* now */
	CFQ_RWSTATS,
};

/* Statistics that are one number */
enum cfq_stat_id {
	CFQ_ST_TIME,		/* ns of the device */
	CFQ_ST_SECTORS,
	CFQ_ST_UNACCOUNTED,	/* ns from the slice's dispatch to its start */
	CFQ_ST_GROUP_WAIT,	/* ns with requests, not served */
	CFQ_ST_IDLE_TIME,	/* ns that the device waited for the group */
	CFQ_ST_EMPTY_TIME,	/* ns without requests */
	CFQ_ST_DEQUEUE,		/* times that the group ran out of requests */
	CFQ_ST_QSIZE_SUM,
	CFQ_ST_QSIZE_SAMPLES,
	CFQ_STATS,
};

/**
 * struct cfq_counters - what is counted for a group
 * @rw: by kind of request
 * @val: single numbers
 */
struct cfq_counters {
	u64 rw[CFQ_RWSTATS][CFQ_STAT_RWS];
	u64 val[CFQ_STATS];
};

/**
 * struct cfq_stats - statistics of a group, for cgroup v1
 * @own: of the group itself
 * @dead: of groups below it that are gone, for sums of all below
 * @wait_since: when the wait for service began, 0 if there is none
 * @idle_since: when the device began to wait for the group, or 0
 * @empty_since: when the last request left, or 0
 *
 * Under cfqd->lock.
 */
struct cfq_stats {
	struct cfq_counters own;
	struct cfq_counters dead;
	u64 wait_since;
	u64 idle_since;
	u64 empty_since;
};

/**
 * struct cfq_group - the queues of a cgroup on a device
 * @pd: what blk-cgroup knows it by, where there are cgroups
 * @cfqd: device, where there are cgroups
 * @node: in cfqd->groups while @nr_busy
 * @vdisktime: device time used, by the group's share; orders cfqd->groups
 * @empty_at: when it last ran out of requests, here or in the device
 * @empty_node: in cfqd->empty_groups while it @competes though it has none
 * @parent: the group above, NULL for the root
 * @online: until its cgroup is removed
 * @weight: against its siblings
 * @leaf_weight: of its own queues, against its children
 * @dev_weight: what was set for this device alone, 0 if nothing was
 * @dev_leaf_weight: the same for @leaf_weight
 * @active_weight: sum of the weights of active children, and of @leaf_weight
 *	if it @competes
 * @active: children that are active, and one if it @competes
 * @competes: its own queues are, or were a moment ago, served with those of others
 * @nr_busy: queues of the classes RT and BE with something to do
 * @class_busy: the same by class
 * @busy_avg: a decaying mean of the latter, at least that
 * @queues: lists of the queues with something to do, in the order of service
 * @wl_count: how many each list has
 * @saved_class: what was served when another group took over
 * @saved_workload: the same
 * @saved_left: what was left for that, ns; 0: nothing
 * @all_queues: each queue that belongs to the group
 * @async: async queues by class and level
 * @async_idle: the async queue of the idle class
 * @dispatched: requests in the device
 * @ttime: think time of the group
 * @seeky_ttime: think time of the list of seeky queues, by class
 * @stats: statistics
 *
 * Under cfqd->lock.
 */
struct cfq_group {
#ifdef CONFIG_CFQ_GROUP_IOSCHED
	struct blkg_policy_data pd;
	struct cfq_data *cfqd;
#endif
	struct rb_node node;
	u64 vdisktime;
	u64 empty_at;
	struct list_head empty_node;
	struct cfq_group *parent;
	bool online;

	unsigned int weight;
	unsigned int leaf_weight;
	unsigned int dev_weight;
	unsigned int dev_leaf_weight;
	unsigned int active_weight;
	unsigned int active;
	bool competes;

	unsigned int nr_busy;
	unsigned int class_busy[CFQ_IDLE];
	unsigned int busy_avg[CFQ_IDLE];
	struct list_head queues[CFQ_IDLE][CFQ_WORKLOADS];
	unsigned int wl_count[CFQ_IDLE][CFQ_WORKLOADS];
	enum cfq_class saved_class;
	enum cfq_workload saved_workload;
	u64 saved_left;

	struct list_head all_queues;
	struct cfq_queue *async[CFQ_IDLE][IOPRIO_NR_LEVELS];
	struct cfq_queue *async_idle;

	unsigned int dispatched;
	struct cfq_ttime ttime;
	struct cfq_ttime seeky_ttime[CFQ_IDLE];
#ifdef CONFIG_CFQ_GROUP_IOSCHED
	struct cfq_stats stats;
#endif
};

/**
 * struct cfq_queue - the requests of a process, or async ones of a level
 * @ref: who points here: an io_cq, the group's async array, requests, @merge_to
 * @cfqd: device
 * @group: group
 * @group_node: in group->all_queues
 * @node: in the list of its group and workload, or in cfqd->idle_queues; empty
 *	if there is nothing to do
 * @since: when it came to the end of that list
 * @sorted: its requests, by sector
 * @fifo: its requests, by insertion
 * @next_rq: the one to dispatch next
 * @queued: requests in @sorted
 * @dispatched: requests in the device
 * @priority: requests in @sorted that are marked as metadata or priority
 * @last_pos: sector after its last request that was inserted
 * @seek_history: a bit for each of the last requests: was it a seek?
 * @class: of I/O priority
 * @level: of I/O priority, 0 is the highest
 * @ioprio: what the two were made from
 * @sync: somebody waits for it
 * @idle_worth: its process answers soon enough to be waited for
 * @busy_workload: the list that it is on
 * @resid: what was left of the last slice, or overdrawn if negative, ns
 * @slice_len: how long a slice of its was when it was last calculated
 * @fifo_checked: a late request was looked for in this slice
 * @must_dispatch: has to dispatch one before its slice may end
 * @ttime: think time of its process
 * @merge_to: the queue of a cooperating process that took over
 * @users: processes that share it
 * @split: its processes cooperate no more
 * @pid: of the process that it was made for
 */
struct cfq_queue {
	int ref;
	struct cfq_data *cfqd;
	struct cfq_group *group;
	struct list_head group_node;
	struct list_head node;
	u64 since;

	struct rb_root sorted;
	struct list_head fifo;
	struct request *next_rq;
	unsigned int queued;
	unsigned int dispatched;
	unsigned int priority;
	sector_t last_pos;
	u32 seek_history;

	enum cfq_class class;
	unsigned int level;
	unsigned short ioprio;
	bool sync;
	bool idle_worth;
	enum cfq_workload busy_workload;

	s64 resid;
	u64 slice_len;
	bool fifo_checked;
	bool must_dispatch;
	struct cfq_ttime ttime;

	struct cfq_queue *merge_to;
	unsigned int users;
	bool split;
	pid_t pid;
};

/**
 * struct cfq_data - a device
 * @queue: request queue
 * @lock: for all that is here; taken in interrupts. Nests in queue_lock,
 *	ioc->lock and blkcg->lock
 * @dispatch: requests that pass the scheduler by
 * @groups: groups with something to do, by vdisktime
 * @min_vdisktime: never goes back; where a group starts
 * @empty_groups: groups with nothing to do that would be back in a moment, in the
 *	order of @empty_at
 * @root: root group
 * @idle_queues: queues of the class IDLE with something to do
 * @idle_served: when the class IDLE was served last
 * @other_served: when another class had a request inserted or completed last
 * @nr_busy: queues with something to do, any class
 * @nr_queued: requests in queues
 * @active: the queue that is served
 * @slice: its slice
 * @slice_nr: number of that slice, never 0
 * @start_cost: how long it takes a queue to get its first request done, decaying
 *	mean, ns
 * @active_group: the group that is served
 * @active_class: what is served there
 * @active_workload: the same
 * @workload_end: until when
 * @idle_until: the end of the wait for the next request of @active, or 0
 * @idle_timer: for that
 * @held_back: dispatch had requests, and gave none. Whoever changes that, kicks
 * @in_driver: requests in the device
 * @sync_in_driver: sync ones of those
 * @last_pos: sector after the last request dispatched
 * @last_sync_end: when a sync request completed last
 * @ncq: does the device take many requests at once, and reorder them?
 * @bio_queue: the queue of the bio that is to be merged
 * @async_depth: how deep into a word of tags async requests may go
 * @tune: tunables
 * @oom_queue: for all that no queue could be allocated for
 */
struct cfq_data {
	struct request_queue *queue;
	spinlock_t lock;	/* all that is here, see above */
	struct list_head dispatch;

	struct rb_root_cached groups;
	u64 min_vdisktime;
	struct list_head empty_groups;
	struct cfq_group *root;
	struct list_head idle_queues;
	u64 idle_served;
	u64 other_served;
	unsigned int nr_busy;
	unsigned int nr_queued;

	struct cfq_queue *active;
	struct cfq_slice slice;
	unsigned long slice_nr;
	u64 start_cost;
	struct cfq_group *active_group;
	enum cfq_class active_class;
	enum cfq_workload active_workload;
	u64 workload_end;
	u64 idle_until;
	struct hrtimer idle_timer;
	bool held_back;

	unsigned int in_driver;
	unsigned int sync_in_driver;
	sector_t last_pos;
	u64 last_sync_end;
	bool ncq;

	struct cfq_queue *bio_queue;
	unsigned int async_depth;
	struct cfq_tunables tune;
	struct cfq_queue oom_queue;
};

/**
 * struct cfq_io_cq - a process on a device
 * @icq: what blk-ioc knows it by; must be the first
 * @sync: its queue, or NULL
 */
struct cfq_io_cq {
	struct io_cq icq;
	struct cfq_queue *sync;
};

/* cfq-account.c: pure functions of times and weights, called under cfqd->lock */
u64 cfq_level_slice(u64 base, unsigned int level);
u64 cfq_adapt_slice(u64 slice, u64 base_sync, u64 floor, u64 group_slice,
		    unsigned int busy);
u64 cfq_slice_used(const struct cfq_slice *slice, u64 now, u64 min,
		   u64 *unaccounted);
s64 cfq_slice_resid(const struct cfq_slice *slice, u64 now, u64 limit);
u64 cfq_min_vdisktime(u64 min, u64 first);
u64 cfq_vdisktime_cost(u64 charge, unsigned int share);
unsigned int cfq_group_share(const struct cfq_group *cfqg);
unsigned int cfq_busy_avg(unsigned int avg, unsigned int busy);
void cfq_ttime_update(struct cfq_ttime *ttime, u64 now, u64 limit);
void cfq_group_activate(struct cfq_group *cfqg);
void cfq_group_deactivate(struct cfq_group *cfqg);
void cfq_group_reweigh(struct cfq_group *cfqg, unsigned int weight,
		       unsigned int leaf_weight);

/* Is the mean think time known, and longer than @limit? */
static inline bool cfq_ttime_long(const struct cfq_ttime *ttime, u64 limit)
{
	return ttime->samples > CFQ_TTIME_VALID && ttime->mean > limit;
}

/* cfq-iosched.c */
void cfq_group_init(struct cfq_group *cfqg, unsigned int weight);
void cfq_group_offline(struct cfq_data *cfqd, struct cfq_group *cfqg);

/* cfq-cgroup.c */
#ifdef CONFIG_CFQ_GROUP_IOSCHED
int cfq_cgroup_register(void);
void cfq_cgroup_unregister(void);
int cfq_cgroup_activate(struct cfq_data *cfqd);
void cfq_cgroup_deactivate(struct cfq_data *cfqd);
struct cfq_group *cfq_bio_group(struct cfq_data *cfqd, struct bio *bio);

/* Is there anybody to show statistics of requests to? cgroup v2 has none of them. */
static inline bool cfq_stats_on(void)
{
	return !cgroup_subsys_on_dfl(io_cgrp_subsys);
}

void cfq_stats_insert(struct cfq_group *cfqg, blk_opf_t opf, u64 now);
void cfq_stats_remove(struct cfq_group *cfqg, blk_opf_t opf);
void cfq_stats_merged(struct cfq_group *cfqg, blk_opf_t opf);
void cfq_stats_dispatch(struct cfq_group *cfqg, struct request *rq, u64 now);
void cfq_stats_completed(struct cfq_group *cfqg, struct request *rq, u64 now);
void cfq_stats_slice(struct cfq_group *cfqg, u64 used, u64 unaccounted);
void cfq_stats_active(struct cfq_group *cfqg, u64 now);
void cfq_stats_empty(struct cfq_group *cfqg, u64 now);
void cfq_stats_idle(struct cfq_group *cfqg, u64 now);
void cfq_stats_idle_end(struct cfq_group *cfqg, u64 now);

#else /* !CONFIG_CFQ_GROUP_IOSCHED */

static inline int cfq_cgroup_register(void) { return 0; }
static inline void cfq_cgroup_unregister(void) { }
int cfq_cgroup_activate(struct cfq_data *cfqd);
void cfq_cgroup_deactivate(struct cfq_data *cfqd);

static inline struct cfq_group *cfq_bio_group(struct cfq_data *cfqd,
					      struct bio *bio)
{
	return cfqd->root;
}

static inline bool cfq_stats_on(void) { return false; }

static inline void cfq_stats_insert(struct cfq_group *cfqg, blk_opf_t opf,
				    u64 now) { }
static inline void cfq_stats_remove(struct cfq_group *cfqg, blk_opf_t opf) { }
static inline void cfq_stats_merged(struct cfq_group *cfqg, blk_opf_t opf) { }
static inline void cfq_stats_dispatch(struct cfq_group *cfqg,
				      struct request *rq, u64 now) { }
static inline void cfq_stats_completed(struct cfq_group *cfqg,
				       struct request *rq, u64 now) { }
static inline void cfq_stats_slice(struct cfq_group *cfqg, u64 used,
				   u64 unaccounted) { }
static inline void cfq_stats_active(struct cfq_group *cfqg, u64 now) { }
static inline void cfq_stats_empty(struct cfq_group *cfqg, u64 now) { }
static inline void cfq_stats_idle(struct cfq_group *cfqg, u64 now) { }
static inline void cfq_stats_idle_end(struct cfq_group *cfqg, u64 now) { }
#endif /* CONFIG_CFQ_GROUP_IOSCHED */

#endif /* _CFQ_IOSCHED_H */
