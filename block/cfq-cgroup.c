// SPDX-License-Identifier: GPL-2.0
/*
 * CFQ for blk-mq: groups of cgroups, their weights and their statistics.
 *
 * blk-cgroup calls in here with queue_lock or blkcg->lock held, so interrupts
 * are off already where cfqd->lock is taken. An online pd that is found under
 * one of these two has a cfqd: that is not freed before the policy is
 * deactivated, which takes both.
 */
#include <linux/backing-dev.h>
#include <linux/blk-time.h>
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "cfq-iosched.h"
#include "elevator.h"

/* Limits of weights in cgroup v1, and what they are at first */
#define CFQ_LEGACY_MIN	10
#define CFQ_LEGACY_DFL	500
#define CFQ_LEGACY_MAX	1000

/* In cftype->private of statistics, with an id: and of all groups below */
#define CFQ_RECURSIVE	BIT(8)

/* Weights of a cgroup; in cftype->private of their files */
enum cfq_weight {
	CFQ_WEIGHT,
	CFQ_LEAF_WEIGHT,
	CFQ_WEIGHTS,
};

/**
 * struct cfq_cgroup - a cgroup, on all devices
 * @cpd: what blk-cgroup knows it by
 * @weight: for devices that have none of their own, under blkcg->lock
 */
struct cfq_cgroup {
	struct blkcg_policy_data cpd;
	unsigned int weight[CFQ_WEIGHTS];
};

static struct blkcg_policy cfq_policy;

static bool cfq_on_dfl(void)
{
	return cgroup_subsys_on_dfl(io_cgrp_subsys);
}

static struct cfq_group *pd_to_cfqg(struct blkg_policy_data *pd)
{
	return pd ? container_of(pd, struct cfq_group, pd) : NULL;
}

static struct cfq_group *blkg_to_cfqg(struct blkcg_gq *blkg)
{
	return pd_to_cfqg(blkg_to_pd(blkg, &cfq_policy));
}

static struct cfq_cgroup *cpd_to_cfq(struct blkcg_policy_data *cpd)
{
	return container_of(cpd, struct cfq_cgroup, cpd);
}

static struct cfq_cgroup *blkcg_to_cfq(struct blkcg *blkcg)
{
	return cpd_to_cfq(blkcg_to_cpd(blkcg, &cfq_policy));
}

/* Only cgroup v1 shows statistics, and not all of them in each kernel. */
static bool cfq_counts(enum cfq_stat_id id)
{
	return (IS_ENABLED(CONFIG_CFQ_CGROUP_DEBUG) || id == CFQ_ST_TIME ||
		id == CFQ_ST_SECTORS) && !cfq_on_dfl();
}

static void cfq_val_add(struct cfq_group *cfqg, enum cfq_stat_id id, u64 val)
{
	if (cfq_counts(id))
		cfqg->stats.own.val[id] += val;
}

static void cfq_begin(enum cfq_stat_id id, u64 *since, u64 now)
{
	if (cfq_counts(id) && !*since)
		*since = now;
}

/* Book what began at @since, if anything did. */
static void cfq_end(struct cfq_group *cfqg, enum cfq_stat_id id, u64 *since,
		    u64 now)
{
	if (!cfq_counts(id) || !*since)
		return;
	cfq_val_add(cfqg, id, blk_time_elapsed(now, *since));
	*since = 0;
}

static enum cfq_rwstat cfq_kind_op(blk_opf_t opf)
{
	if (op_is_discard(opf))
		return CFQ_STAT_DISCARD;
	return op_is_write(opf) ? CFQ_STAT_WRITE : CFQ_STAT_READ;
}

static enum cfq_rwstat cfq_kind_sync(blk_opf_t opf)
{
	return op_is_sync(opf) ? CFQ_STAT_SYNC : CFQ_STAT_ASYNC;
}

static void cfq_rw_add(struct cfq_group *cfqg, enum cfq_rwstat_id id,
		       blk_opf_t opf, u64 val)
{
	u64 *rw = cfqg->stats.own.rw[id];

	if (cfq_on_dfl())
		return;
	rw[cfq_kind_op(opf)] += val;
	rw[cfq_kind_sync(opf)] += val;
}

/* Each one is sync or async as well, which is not to count again. */
static u64 cfq_rw_total(const u64 *rw)
{
	return rw[CFQ_STAT_READ] + rw[CFQ_STAT_WRITE] + rw[CFQ_STAT_DISCARD];
}

/**
 * cfq_stats_insert - count a request that is queued
 * @cfqg: group
 * @opf: operation and flags of the request
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_insert(struct cfq_group *cfqg, blk_opf_t opf, u64 now)
{
	struct cfq_stats *stats = &cfqg->stats;

	cfq_rw_add(cfqg, CFQ_ST_QUEUED, opf, 1);
	cfq_end(cfqg, CFQ_ST_EMPTY_TIME, &stats->empty_since, now);
	if (cfqg->cfqd->active_group != cfqg)
		cfq_begin(CFQ_ST_GROUP_WAIT, &stats->wait_since, now);
}

/**
 * cfq_stats_remove - count a request that is queued no more
 * @cfqg: group
 * @opf: operation and flags of the request
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_remove(struct cfq_group *cfqg, blk_opf_t opf)
{
	u64 *queued = cfqg->stats.own.rw[CFQ_ST_QUEUED];
	enum cfq_rwstat op = cfq_kind_op(opf), sync = cfq_kind_sync(opf);

	/* It was not counted if it was queued before cgroup v1 was mounted. */
	if (queued[op])
		queued[op]--;
	if (queued[sync])
		queued[sync]--;
}

/**
 * cfq_stats_merged - count a bio or request that was merged into another
 * @cfqg: group
 * @opf: operation and flags of what was merged
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_merged(struct cfq_group *cfqg, blk_opf_t opf)
{
	cfq_rw_add(cfqg, CFQ_ST_MERGED, opf, 1);
}

/**
 * cfq_stats_dispatch - count a request that goes to the device
 * @cfqg: group
 * @rq: request
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_dispatch(struct cfq_group *cfqg, struct request *rq, u64 now)
{
	cfq_rw_add(cfqg, CFQ_ST_SERVICE_BYTES, rq->cmd_flags, blk_rq_bytes(rq));
	cfq_rw_add(cfqg, CFQ_ST_SERVICED, rq->cmd_flags, 1);
	cfq_val_add(cfqg, CFQ_ST_SECTORS, blk_rq_sectors(rq));
}

/**
 * cfq_stats_completed - count the times of a request that is done
 * @cfqg: group
 * @rq: request, with the time of its dispatch in io_start_time_ns
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_completed(struct cfq_group *cfqg, struct request *rq, u64 now)
{
	cfq_rw_add(cfqg, CFQ_ST_SERVICE_TIME, rq->cmd_flags,
		   blk_time_elapsed(now, rq->io_start_time_ns));
	cfq_rw_add(cfqg, CFQ_ST_WAIT_TIME, rq->cmd_flags,
		   blk_time_elapsed(rq->io_start_time_ns, rq->start_time_ns));
}

/**
 * cfq_stats_slice - count a slice that is over
 * @cfqg: group
 * @used: time of the device that it took, ns
 * @unaccounted: time from its dispatch to its start, ns
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_slice(struct cfq_group *cfqg, u64 used, u64 unaccounted)
{
	cfq_val_add(cfqg, CFQ_ST_TIME, used);
	cfq_val_add(cfqg, CFQ_ST_UNACCOUNTED, unaccounted);
}

/**
 * cfq_stats_active - the group is served now
 * @cfqg: group
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_active(struct cfq_group *cfqg, u64 now)
{
	struct cfq_stats *stats = &cfqg->stats;

	cfq_val_add(cfqg, CFQ_ST_QSIZE_SUM,
		    cfq_rw_total(stats->own.rw[CFQ_ST_QUEUED]));
	cfq_val_add(cfqg, CFQ_ST_QSIZE_SAMPLES, 1);
	cfq_end(cfqg, CFQ_ST_GROUP_WAIT, &stats->wait_since, now);
	cfq_end(cfqg, CFQ_ST_IDLE_TIME, &stats->idle_since, now);
}

/**
 * cfq_stats_empty - the group has no queue with requests any more
 * @cfqg: group
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_empty(struct cfq_group *cfqg, u64 now)
{
	struct cfq_stats *stats = &cfqg->stats;

	cfq_val_add(cfqg, CFQ_ST_DEQUEUE, 1);
	/* Those of the class IDLE do not keep it busy. */
	if (cfq_rw_total(stats->own.rw[CFQ_ST_QUEUED]))
		return;
	/* It may have waited for the service of what was merged away. */
	cfq_end(cfqg, CFQ_ST_GROUP_WAIT, &stats->wait_since, now);
	cfq_begin(CFQ_ST_EMPTY_TIME, &stats->empty_since, now);
}

/**
 * cfq_stats_idle - the device waits for the next request of the group
 * @cfqg: group
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_idle(struct cfq_group *cfqg, u64 now)
{
	cfq_begin(CFQ_ST_IDLE_TIME, &cfqg->stats.idle_since, now);
}

/**
 * cfq_stats_idle_end - the device waits for the group no more
 * @cfqg: group
 * @now: time
 *
 * Context: Under cfqd->lock.
 */
void cfq_stats_idle_end(struct cfq_group *cfqg, u64 now)
{
	cfq_end(cfqg, CFQ_ST_IDLE_TIME, &cfqg->stats.idle_since, now);
}

static void cfq_counters_add(struct cfq_counters *to,
			     const struct cfq_counters *from)
{
	unsigned int id, kind;

	for (id = 0; id < CFQ_RWSTATS; id++)
		for (kind = 0; kind < CFQ_STAT_RWS; kind++)
			to->rw[id][kind] += from->rw[id][kind];
	for (id = 0; id < CFQ_STATS; id++)
		to->val[id] += from->val[id];
}

/*
 * Of @pd alone, or with all that are, or were, below it. Under queue_lock, but
 * the blkg may have died while that was waited for: then this is false.
 */
static bool cfq_stats_sum(struct blkg_policy_data *pd, bool recursive,
			  struct cfq_counters *sum)
{
	struct cgroup_subsys_state *css;
	struct cfq_group *cfqg;
	struct blkcg_gq *blkg;
	struct cfq_data *cfqd;

	if (!pd || !pd->online)
		return false;

	memset(sum, 0, sizeof(*sum));
	cfqd = pd_to_cfqg(pd)->cfqd;
	rcu_read_lock();
	spin_lock(&cfqd->lock);
	blkg_for_each_descendant_pre(blkg, css, pd->blkg) {
		cfqg = blkg_to_cfqg(blkg);
		if (!cfqg || !cfqg->online)
			continue;
		cfq_counters_add(sum, &cfqg->stats.own);
		if (!recursive)
			break;
		cfq_counters_add(sum, &cfqg->stats.dead);
	}
	spin_unlock(&cfqd->lock);
	rcu_read_unlock();
	return true;
}

static u64 cfq_prfill_rw(struct seq_file *sf, struct blkg_policy_data *pd,
			 int data)
{
	static const char * const kinds[CFQ_STAT_RWS] = {
		[CFQ_STAT_READ]		= "Read",
		[CFQ_STAT_WRITE]	= "Write",
		[CFQ_STAT_SYNC]		= "Sync",
		[CFQ_STAT_ASYNC]	= "Async",
		[CFQ_STAT_DISCARD]	= "Discard",
	};
	struct cfq_counters sum;
	struct gendisk *disk;
	unsigned int kind;
	const char *name;
	const u64 *rw;

	if (!cfq_stats_sum(pd, data & CFQ_RECURSIVE, &sum))
		return 0;
	disk = pd->blkg->q->disk;
	if (!disk || !disk->bdi->dev)
		return 0;

	name = bdi_dev_name(disk->bdi);
	rw = sum.rw[data & ~CFQ_RECURSIVE];
	for (kind = 0; kind < CFQ_STAT_RWS; kind++)
		seq_printf(sf, "%s %s %llu\n", name, kinds[kind], rw[kind]);
	seq_printf(sf, "%s Total %llu\n", name, cfq_rw_total(rw));
	return cfq_rw_total(rw);
}

static int cfq_show_rw(struct seq_file *sf, void *v)
{
	blkcg_print_blkgs(sf, css_to_blkcg(seq_css(sf)), cfq_prfill_rw,
			  &cfq_policy, seq_cft(sf)->private, true);
	return 0;
}

static u64 cfq_prfill_val(struct seq_file *sf, struct blkg_policy_data *pd,
			  int data)
{
	struct cfq_counters sum;
	unsigned int id = data & ~CFQ_RECURSIVE;
	u64 val;

	if (!cfq_stats_sum(pd, data & CFQ_RECURSIVE, &sum))
		return 0;
	val = sum.val[id];
	/* Shown as a mean */
	if (id == CFQ_ST_QSIZE_SUM && val)
		val = div64_u64(val, sum.val[CFQ_ST_QSIZE_SAMPLES]);
	return __blkg_prfill_u64(sf, pd, val);
}

static int cfq_show_val(struct seq_file *sf, void *v)
{
	blkcg_print_blkgs(sf, css_to_blkcg(seq_css(sf)), cfq_prfill_val,
			  &cfq_policy, seq_cft(sf)->private, false);
	return 0;
}

static unsigned int *cfq_dev_weight(struct cfq_group *cfqg, int which)
{
	return which == CFQ_WEIGHT ? &cfqg->dev_weight : &cfqg->dev_leaf_weight;
}

/* Under blkcg->lock */
static void cfq_apply_weights(struct cfq_cgroup *cg, struct cfq_group *cfqg)
{
	spin_lock(&cfqg->cfqd->lock);
	cfq_group_reweigh(cfqg, cfqg->dev_weight ?: cg->weight[CFQ_WEIGHT],
			  cfqg->dev_leaf_weight ?: cg->weight[CFQ_LEAF_WEIGHT]);
	spin_unlock(&cfqg->cfqd->lock);
}

static int cfq_parse_weight(char *buf, bool device, unsigned int *weight)
{
	bool dfl = cfq_on_dfl();
	unsigned int min = dfl ? CGROUP_WEIGHT_MIN : CFQ_LEGACY_MIN;
	unsigned int max = dfl ? CGROUP_WEIGHT_MAX : CFQ_LEGACY_MAX;
	int ret;

	*weight = 0;
	if (device && !strcmp(buf, "default"))
		return 0;
	ret = kstrtouint(buf, 0, weight);
	if (ret || (device && !dfl && !*weight))
		return ret;
	return *weight < min || *weight > max ? -ERANGE : 0;
}

/* Under blkcg->lock */
static void cfq_apply_default(struct blkcg *blkcg, bool forget)
{
	struct cfq_group *cfqg;
	struct blkcg_gq *blkg;

	hlist_for_each_entry(blkg, &blkcg->blkg_list, blkcg_node) {
		cfqg = blkg_to_cfqg(blkg);
		if (!cfqg)
			continue;
		if (forget) {
			cfqg->dev_weight = 0;
			cfqg->dev_leaf_weight = 0;
		}
		cfq_apply_weights(blkcg_to_cfq(blkcg), cfqg);
	}
}

static ssize_t cfq_write_weight(struct kernfs_open_file *of, char *buf,
				size_t nbytes, loff_t off)
{
	struct blkcg *blkcg = css_to_blkcg(of_css(of));
	struct cfq_cgroup *cg = blkcg_to_cfq(blkcg);
	unsigned int weight;
	int ret;

	ret = cfq_parse_weight(strim(buf), false, &weight);
	if (ret)
		return ret;

	spin_lock_irq(&blkcg->lock);
	WRITE_ONCE(cg->weight[of_cft(of)->private], weight);
	cfq_apply_default(blkcg, false);
	spin_unlock_irq(&blkcg->lock);
	return nbytes;
}

/* "MAJ:MIN W"; with "default", or 0 in cgroup v1, the device has none */
static ssize_t cfq_write_device(struct kernfs_open_file *of, char *buf,
				size_t nbytes, loff_t off)
{
	struct blkcg *blkcg = css_to_blkcg(of_css(of));
	struct blkg_conf_ctx ctx;
	struct cfq_group *cfqg;
	unsigned int weight;
	int ret;

	ret = blkg_conf_prep(blkcg, &cfq_policy, buf, &ctx);
	if (ret)
		return ret;

	ret = cfq_parse_weight(strim(ctx.body), true, &weight);
	if (!ret) {
		cfqg = blkg_to_cfqg(ctx.blkg);
		spin_lock(&blkcg->lock);
		*cfq_dev_weight(cfqg, of_cft(of)->private) = weight;
		cfq_apply_weights(blkcg_to_cfq(blkcg), cfqg);
		spin_unlock(&blkcg->lock);
	}
	blkg_conf_finish(&ctx);
	return ret ?: nbytes;
}

/* cgroup v2 has one file for both, and "default" may come before a mere W. */
static ssize_t cfq_write_weight_dfl(struct kernfs_open_file *of, char *buf,
				    size_t nbytes, loff_t off)
{
	size_t len;

	if (strchr(buf, ':'))
		return cfq_write_device(of, buf, nbytes, off);

	buf = skip_spaces(buf);
	len = str_has_prefix(buf, "default");
	if (len && !isspace(buf[len]))
		return -EINVAL;
	return cfq_write_weight(of, skip_spaces(buf + len), nbytes, off);
}

static int cfq_show_weight(struct seq_file *sf, void *v)
{
	struct cfq_cgroup *cg = blkcg_to_cfq(css_to_blkcg(seq_css(sf)));

	seq_printf(sf, "%u\n", READ_ONCE(cg->weight[seq_cft(sf)->private]));
	return 0;
}

static u64 cfq_prfill_weight(struct seq_file *sf, struct blkg_policy_data *pd,
			     int which)
{
	unsigned int weight;

	if (!pd || !pd->online)
		return 0;
	weight = *cfq_dev_weight(pd_to_cfqg(pd), which);
	return weight ? __blkg_prfill_u64(sf, pd, weight) : 0;
}

static int cfq_show_device(struct seq_file *sf, void *v)
{
	blkcg_print_blkgs(sf, css_to_blkcg(seq_css(sf)), cfq_prfill_weight,
			  &cfq_policy, seq_cft(sf)->private, false);
	return 0;
}

static int cfq_show_weight_dfl(struct seq_file *sf, void *v)
{
	seq_puts(sf, "default ");
	cfq_show_weight(sf, v);
	return cfq_show_device(sf, v);
}

#define CFQ_RW(_name, _id)						\
	.name = _name, .private = _id, .seq_show = cfq_show_rw
#define CFQ_VAL(_name, _id)						\
	.name = _name, .private = _id, .seq_show = cfq_show_val
#define CFQ_BELOW(_id)	((_id) | CFQ_RECURSIVE)
#define CFQ_FILE(_name, _type, _which, _flags)				\
	.name = _name, .private = _which, .flags = _flags,		\
	.seq_show = cfq_show_##_type, .write = cfq_write_##_type

static struct cftype cfq_legacy_files[] = {
	/* The root has no siblings. What is a weight elsewhere, is its leaf's. */
	{ CFQ_FILE("weight", weight, CFQ_LEAF_WEIGHT, CFTYPE_ONLY_ON_ROOT) },
	{ CFQ_FILE("weight_device", device, CFQ_LEAF_WEIGHT,
		   CFTYPE_ONLY_ON_ROOT) },
	{ CFQ_FILE("weight", weight, CFQ_WEIGHT, CFTYPE_NOT_ON_ROOT) },
	{ CFQ_FILE("weight_device", device, CFQ_WEIGHT, CFTYPE_NOT_ON_ROOT) },
	{ CFQ_FILE("leaf_weight", weight, CFQ_LEAF_WEIGHT, 0) },
	{ CFQ_FILE("leaf_weight_device", device, CFQ_LEAF_WEIGHT, 0) },

	{ CFQ_VAL("time", CFQ_ST_TIME) },
	{ CFQ_VAL("time_recursive", CFQ_BELOW(CFQ_ST_TIME)) },
	{ CFQ_VAL("sectors", CFQ_ST_SECTORS) },
	{ CFQ_VAL("sectors_recursive", CFQ_BELOW(CFQ_ST_SECTORS)) },
	{ CFQ_RW("io_service_bytes", CFQ_ST_SERVICE_BYTES) },
	{ CFQ_RW("io_service_bytes_recursive", CFQ_BELOW(CFQ_ST_SERVICE_BYTES)) },
	{ CFQ_RW("io_serviced", CFQ_ST_SERVICED) },
	{ CFQ_RW("io_serviced_recursive", CFQ_BELOW(CFQ_ST_SERVICED)) },
	{ CFQ_RW("io_service_time", CFQ_ST_SERVICE_TIME) },
	{ CFQ_RW("io_service_time_recursive", CFQ_BELOW(CFQ_ST_SERVICE_TIME)) },
	{ CFQ_RW("io_wait_time", CFQ_ST_WAIT_TIME) },
	{ CFQ_RW("io_wait_time_recursive", CFQ_BELOW(CFQ_ST_WAIT_TIME)) },
	{ CFQ_RW("io_merged", CFQ_ST_MERGED) },
	{ CFQ_RW("io_merged_recursive", CFQ_BELOW(CFQ_ST_MERGED)) },
	{ CFQ_RW("io_queued", CFQ_ST_QUEUED) },
	{ CFQ_RW("io_queued_recursive", CFQ_BELOW(CFQ_ST_QUEUED)) },
#ifdef CONFIG_CFQ_CGROUP_DEBUG
	{ CFQ_VAL("avg_queue_size", CFQ_ST_QSIZE_SUM) },
	{ CFQ_VAL("group_wait_time", CFQ_ST_GROUP_WAIT) },
	{ CFQ_VAL("idle_time", CFQ_ST_IDLE_TIME) },
	{ CFQ_VAL("empty_time", CFQ_ST_EMPTY_TIME) },
	{ CFQ_VAL("dequeue", CFQ_ST_DEQUEUE) },
	{ CFQ_VAL("unaccounted_time", CFQ_ST_UNACCOUNTED) },
#endif
	{ }
};

static struct cftype cfq_dfl_files[] = {
	{ CFQ_FILE("cfq.weight", weight_dfl, CFQ_WEIGHT, CFTYPE_NOT_ON_ROOT) },
	{ }
};

static struct blkcg_policy_data *cfq_cpd_alloc(gfp_t gfp)
{
	struct cfq_cgroup *cg = kzalloc(sizeof(*cg), gfp);

	return cg ? &cg->cpd : NULL;
}

static void cfq_cpd_init(struct blkcg_policy_data *cpd)
{
	unsigned int *weight = cpd_to_cfq(cpd)->weight;

	weight[CFQ_WEIGHT] = cfq_on_dfl() ? CGROUP_WEIGHT_DFL : CFQ_LEGACY_DFL;
	weight[CFQ_LEAF_WEIGHT] = weight[CFQ_WEIGHT];
}

/* The other version of cgroups takes over: it has other weights, and files. */
static void cfq_cpd_bind(struct blkcg_policy_data *cpd)
{
	spin_lock_irq(&cpd->blkcg->lock);
	cfq_cpd_init(cpd);
	cfq_apply_default(cpd->blkcg, true);
	spin_unlock_irq(&cpd->blkcg->lock);
}

static void cfq_cpd_free(struct blkcg_policy_data *cpd)
{
	kfree(cpd_to_cfq(cpd));
}

static struct blkg_policy_data *
cfq_pd_alloc(gfp_t gfp, struct request_queue *q, struct blkcg *blkcg)
{
	struct cfq_group *cfqg;

	/* blk-cgroup frees what is left of a dead group late, by this policy. */
	if (!try_module_get(THIS_MODULE))
		return NULL;
	cfqg = kzalloc_node(sizeof(*cfqg), gfp, q->node);
	if (cfqg)
		return &cfqg->pd;
	module_put(THIS_MODULE);
	return NULL;
}

static void cfq_pd_init(struct blkg_policy_data *pd)
{
	struct cfq_group *cfqg = pd_to_cfqg(pd);
	struct blkcg_gq *blkg = pd->blkg;

	cfq_group_init(cfqg, blkcg_to_cfq(blkg->blkcg)->weight[CFQ_WEIGHT]);
	cfqg->cfqd = blkg->q->elevator->elevator_data;
	cfqg->parent = blkg_to_cfqg(blkg->parent);
}

/* The weight may have changed since pd_init, which is not under blkcg->lock. */
static void cfq_pd_online(struct blkg_policy_data *pd)
{
	cfq_apply_weights(blkcg_to_cfq(pd->blkg->blkcg), pd_to_cfqg(pd));
}

static void cfq_pd_offline(struct blkg_policy_data *pd)
{
	struct cfq_group *cfqg = pd_to_cfqg(pd);
	struct cfq_data *cfqd = cfqg->cfqd;

	spin_lock(&cfqd->lock);
	/* Its queues take what is queued there with them, in the counts too. */
	cfq_group_offline(cfqd, cfqg);
	if (cfqg->parent) {
		cfq_counters_add(&cfqg->parent->stats.dead, &cfqg->stats.own);
		cfq_counters_add(&cfqg->parent->stats.dead, &cfqg->stats.dead);
	}
	spin_unlock(&cfqd->lock);
}

/*
 * Without RCU: who looks for a pd holds queue_lock or blkcg->lock, and so does
 * who frees one; or it has a bio, which has the blkg, or the queue unfrozen.
 * @pd may outlive its cfqd, if a bio of another scheduler's time has the blkg.
 */
static void cfq_pd_free(struct blkg_policy_data *pd)
{
	kfree(pd_to_cfqg(pd));
	module_put(THIS_MODULE);
}

static void cfq_pd_reset_stats(struct blkg_policy_data *pd)
{
	struct cfq_group *cfqg = pd_to_cfqg(pd);
	struct cfq_stats *stats = &cfqg->stats;
	struct cfq_counters fresh = { };

	spin_lock(&cfqg->cfqd->lock);
	/* What is queued now, has yet to leave. */
	memcpy(fresh.rw[CFQ_ST_QUEUED], stats->own.rw[CFQ_ST_QUEUED],
	       sizeof(fresh.rw[CFQ_ST_QUEUED]));
	stats->own = fresh;
	memset(&stats->dead, 0, sizeof(stats->dead));
	spin_unlock(&cfqg->cfqd->lock);
}

static struct blkcg_policy cfq_policy = {
	.dfl_cftypes		= cfq_dfl_files,
	.legacy_cftypes		= cfq_legacy_files,

	.cpd_alloc_fn		= cfq_cpd_alloc,
	.cpd_init_fn		= cfq_cpd_init,
	.cpd_bind_fn		= cfq_cpd_bind,
	.cpd_free_fn		= cfq_cpd_free,

	.pd_alloc_fn		= cfq_pd_alloc,
	.pd_init_fn		= cfq_pd_init,
	.pd_online_fn		= cfq_pd_online,
	.pd_offline_fn		= cfq_pd_offline,
	.pd_free_fn		= cfq_pd_free,
	.pd_reset_stats_fn	= cfq_pd_reset_stats,
};

/**
 * cfq_bio_group - the group that a bio belongs to
 * @cfqd: device
 * @bio: bio, which holds its blkg, or NULL
 *
 * A blkg that has died is stood in for by the nearest one above it that is
 * alive. Its pd may be of another scheduler's time, and is not looked at; one
 * that dies right now is known by its group, which goes offline before.
 *
 * Context: Under cfqd->lock.
 * Return: a group that is online; the root if there is no other.
 */
struct cfq_group *cfq_bio_group(struct cfq_data *cfqd, struct bio *bio)
{
	struct blkcg_gq *blkg = bio ? bio->bi_blkg : NULL;
	struct cfq_group *cfqg;

	/* A driver may have sent it on without another blkg for this queue. */
	if (!blkg || blkg->q != cfqd->queue)
		return cfqd->root;

	for (; blkg; blkg = blkg->parent) {
		if (!READ_ONCE(blkg->online))
			continue;
		cfqg = blkg_to_cfqg(blkg);
		if (cfqg && cfqg->online)
			return cfqg;
	}
	return cfqd->root;
}

/**
 * cfq_cgroup_activate - make groups for the cgroups that use a device
 * @cfqd: device, its lock ready; elevator_data of the elevator of its queue
 *
 * Context: Process context, may sleep; the queue is frozen meanwhile.
 * Return: 0 with the root group in @cfqd, or -ENOMEM.
 */
int cfq_cgroup_activate(struct cfq_data *cfqd)
{
	int ret = blkcg_activate_policy(cfqd->queue, &cfq_policy);

	if (!ret)
		cfqd->root = blkg_to_cfqg(cfqd->queue->root_blkg);
	return ret;
}

/**
 * cfq_cgroup_deactivate - free all groups of a device
 * @cfqd: device, still elevator_data, without requests and io_cqs
 *
 * Context: Process context, may sleep; the queue is frozen meanwhile.
 */
void cfq_cgroup_deactivate(struct cfq_data *cfqd)
{
	blkcg_deactivate_policy(cfqd->queue, &cfq_policy);
	cfqd->root = NULL;
}

/**
 * cfq_cgroup_register - make CFQ and its files known to blk-cgroup
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC where there are too many policies, or -ENOMEM.
 */
int cfq_cgroup_register(void)
{
	return blkcg_policy_register(&cfq_policy);
}

/**
 * cfq_cgroup_unregister - undo cfq_cgroup_register()
 *
 * Context: Process context, may sleep; no device has CFQ.
 */
void cfq_cgroup_unregister(void)
{
	blkcg_policy_unregister(&cfq_policy);
}
