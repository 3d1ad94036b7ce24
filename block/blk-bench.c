// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of the block layer's issue and completion paths.
 *
 * Submits plugged batches of one-page random reads or writes from inside the
 * kernel, so that system calls, file systems and the page cache have no share
 * in the figure. All of it happens in the context of the task that starts the
 * benchmark: the I/O controllers of its cgroup apply.
 *
 *	cd /sys/module/blk_bench/parameters
 *	echo nullb0 > dev
 *	echo 32 > batch
 *	echo 1 > /sys/kernel/debug/blk-bench/run	# returns when done
 *	cat /sys/kernel/debug/blk-bench/result
 *
 * Started through a file in debugfs and not through a parameter: a parameter's
 * setter holds a lock, which is shared by all built-in code, all the while.
 *
 * A fatal signal ends a run early. Mind that interactive shells survive ^C;
 * "sh -c 'echo 1 > run'" does not.
 */

#define pr_fmt(fmt) "blk-bench: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "blk.h"

enum {
	/* Room for a path below /dev, or anywhere else. */
	DEV_NAME_MAX	= 256,

	/* Longest line of the result, a long device name included. */
	RESULT_LINE_MAX	= 256,

	/* The part of it that tells of latencies. */
	SAMPLES_MAX	= 64,

	/* Up to 1 KiB, in steps of the stack's alignment. */
	STACK_SHIFT_MASK = 0x3f0,

	/* Caches and branch predictors are warm well before this. */
	WARMUP_MS_MAX	= 100,
};

enum blk_bench_op {
	BLK_BENCH_READ,
	BLK_BENCH_WRITE,
	BLK_BENCH_NR_OPS,
};

static const struct {
	const char	*name;
	blk_opf_t	opf;
} blk_bench_ops[BLK_BENCH_NR_OPS] = {
	[BLK_BENCH_READ]	= { "read",	REQ_OP_READ },
	[BLK_BENCH_WRITE]	= { "write",	REQ_OP_WRITE },
};

/**
 * struct blk_bench_number - a parameter that is a number in a range
 * @val: its value
 * @min: least value that is accepted
 * @max: greatest value that is accepted
 */
struct blk_bench_number {
	unsigned int	val;
	unsigned int	min;
	unsigned int	max;
};

/**
 * struct blk_bench_params - what to do, as set through the parameters
 * @dev: path of the block device, or its name in /dev
 * @op: what to submit
 * @allow_write: the user accepts that the device's contents are destroyed
 * @plug: submit a batch under a plug
 * @batch: bios that are waited for together
 * @runs: how often to measure
 * @ms: duration of one run
 * @seed: where the sequence of random positions starts
 * @sample: measure the latency of one bio in that many, of none if 0
 */
struct blk_bench_params {
	char			dev[DEV_NAME_MAX];
	enum blk_bench_op	op;
	bool			allow_write;
	bool			plug;
	struct blk_bench_number	batch;
	struct blk_bench_number	runs;
	struct blk_bench_number	ms;
	struct blk_bench_number	seed;
	struct blk_bench_number	sample;
};

/**
 * struct blk_bench_io - one bio of the batch and what it needs
 * @bio: the bio, submitted again in each batch
 * @vec: its only segment, @page
 * @page: its data; own pages, because devices may check what they transfer
 * @start_ns: when it was submitted, if its latency is measured, or 0
 */
struct blk_bench_io {
	struct bio	bio;
	struct bio_vec	vec;
	struct page	*page;
	u64		start_ns;
};

/**
 * struct blk_bench - a benchmark that is going on
 * @par: the parameters as they were when it started
 * @bdev: the device, opened exclusively
 * @mode: how it was opened
 * @nr_pages: its size in pages
 * @rnd: state of the random number generator
 * @ios: the bios of a batch
 * @task: who submits
 * @nr_inline: bios of the batch that completed in @task's own context
 * @pending: bios of the batch that did not, plus one for @task
 * @done: all bios of the batch have completed
 * @status: how the last bio to fail failed
 * @to_sample: bios until the next one whose latency is measured
 * @nr_sampled: latencies measured in this run
 * @lat_ns: their sum
 */
struct blk_bench {
	struct blk_bench_params	par;
	struct block_device	*bdev;
	fmode_t			mode;
	u64			nr_pages;
	u64			rnd;
	struct blk_bench_io	*ios;
	struct task_struct	*task;
	unsigned int		nr_inline;
	atomic_t		pending;
	struct completion	done;
	blk_status_t		status;
	unsigned int		to_sample;
	atomic_t		nr_sampled;
	atomic64_t		lat_ns;
};

/* Protected by kernel_param_lock(). */
static struct blk_bench_params blk_bench_par = {
	.op	= BLK_BENCH_READ,
	.plug	= true,
	.batch	= { .val = 32,	.min = 1, .max = 1024 },
	.runs	= { .val = 5,	.min = 1, .max = 1000 },
	.ms	= { .val = 500,	.min = 1, .max = 600000 },
	.seed	= { .val = 1,	.min = 1, .max = UINT_MAX },
	.sample	= { .val = 0,	.min = 0, .max = 1000000 },
};

/* Two benchmarks at a time would disturb each other. */
static DEFINE_MUTEX(blk_bench_running);

/* Lines of the last benchmark, also while it is still going on. */
static DEFINE_MUTEX(blk_bench_result_lock);
static struct seq_buf blk_bench_result;

static struct dentry *blk_bench_dir;

static int number_set(const char *val, const struct kernel_param *kp)
{
	struct blk_bench_number *num = kp->arg;
	unsigned int n;

	if (!val || kstrtouint(val, 0, &n) || n < num->min || n > num->max) {
		pr_err("%s must be a number from %u to %u\n", kp->name,
		       num->min, num->max);
		return -EINVAL;
	}
	num->val = n;
	return 0;
}

static int number_get(char *buf, const struct kernel_param *kp)
{
	const struct blk_bench_number *num = kp->arg;

	return sysfs_emit(buf, "%u\n", num->val);
}

static const struct kernel_param_ops number_ops = {
	.set	= number_set,
	.get	= number_get,
};

static int op_set(const char *val, const struct kernel_param *kp)
{
	enum blk_bench_op *op = kp->arg;
	char names[32] = "";
	int i;

	for (i = 0; i < BLK_BENCH_NR_OPS; i++) {
		if (val && sysfs_streq(val, blk_bench_ops[i].name)) {
			*op = i;
			return 0;
		}
		strlcat(names, " ", sizeof(names));
		strlcat(names, blk_bench_ops[i].name, sizeof(names));
	}
	pr_err("%s must be one of:%s\n", kp->name, names);
	return -EINVAL;
}

static int op_get(char *buf, const struct kernel_param *kp)
{
	const enum blk_bench_op *op = kp->arg;

	return sysfs_emit(buf, "%s\n", blk_bench_ops[*op].name);
}

static const struct kernel_param_ops op_ops = {
	.set	= op_set,
	.get	= op_get,
};

static int dev_set(const char *val, const struct kernel_param *kp)
{
	size_t len = val ? strcspn(val, "\n") : 0;

	if (!len || len >= DEV_NAME_MAX) {
		pr_err("%s must be a block device's name or path, up to %d characters\n",
		       kp->name, DEV_NAME_MAX - 1);
		return -EINVAL;
	}
	strscpy(kp->arg, val, len + 1);
	return 0;
}

static int dev_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", (const char *)kp->arg);
}

static const struct kernel_param_ops dev_ops = {
	.set	= dev_set,
	.get	= dev_get,
};

module_param_cb(dev, &dev_ops, blk_bench_par.dev, 0644);
MODULE_PARM_DESC(dev, "Block device, a name in /dev or a path");
module_param_cb(op, &op_ops, &blk_bench_par.op, 0644);
MODULE_PARM_DESC(op, "What to submit: read (default) or write");
module_param_named(allow_write, blk_bench_par.allow_write, bool, 0644);
MODULE_PARM_DESC(allow_write, "Let op=write destroy the device's contents (default N)");
module_param_named(plug, blk_bench_par.plug, bool, 0644);
MODULE_PARM_DESC(plug, "Submit each batch under a plug (default Y)");
module_param_cb(batch, &number_ops, &blk_bench_par.batch, 0644);
MODULE_PARM_DESC(batch, "Bios that are waited for together (default 32)");
module_param_cb(runs, &number_ops, &blk_bench_par.runs, 0644);
MODULE_PARM_DESC(runs, "Number of runs (default 5)");
module_param_cb(ms, &number_ops, &blk_bench_par.ms, 0644);
MODULE_PARM_DESC(ms, "Duration of one run in milliseconds (default 500)");
module_param_cb(seed, &number_ops, &blk_bench_par.seed, 0644);
MODULE_PARM_DESC(seed, "Seed of the random positions (default 1)");
module_param_cb(sample, &number_ops, &blk_bench_par.sample, 0644);
MODULE_PARM_DESC(sample, "Measure the latency of one bio in that many (default 0: none)");

/*
 * A bio that completes inside of submit_bio() or the flush of the plug costs no
 * atomic operation. An interrupt that lands on @task is not @task's context.
 */
static void blk_bench_end_io(struct bio *bio)
{
	struct blk_bench_io *io = container_of(bio, struct blk_bench_io, bio);
	struct blk_bench *bb = bio->bi_private;

	if (unlikely(bio->bi_status))
		WRITE_ONCE(bb->status, bio->bi_status);
	if (unlikely(io->start_ns)) {
		atomic64_add(ktime_get_ns() - io->start_ns, &bb->lat_ns);
		atomic_inc(&bb->nr_sampled);
	}

	if (in_task() && current == bb->task)
		bb->nr_inline++;
	else if (atomic_dec_and_test(&bb->pending))
		complete(&bb->done);
}

/*
 * A number below @limit. Xorshift: a few cycles, and good enough to defeat
 * merging and caches.
 */
static u64 blk_bench_random(struct blk_bench *bb, u64 limit)
{
	bb->rnd ^= bb->rnd << 13;
	bb->rnd ^= bb->rnd >> 7;
	bb->rnd ^= bb->rnd << 17;
	return mul_u64_u64_shr(bb->rnd, limit, 64);
}

static sector_t blk_bench_next_sector(struct blk_bench *bb)
{
	return blk_bench_random(bb, bb->nr_pages) << PAGE_SECTORS_SHIFT;
}

/* At random distances, so that each place in the batch has its turn. */
static void blk_bench_next_sample(struct blk_bench *bb)
{
	bb->to_sample = 1 + blk_bench_random(bb, 2 * bb->par.sample.val - 1);
}

static void blk_bench_submit(struct blk_bench *bb, struct blk_bench_io *io)
{
	struct bio *bio = &io->bio;

	bio_reset(bio, bb->bdev, blk_bench_ops[bb->par.op].opf);
	bio->bi_iter.bi_sector = blk_bench_next_sector(bb);
	bio->bi_private = bb;
	bio->bi_end_io = blk_bench_end_io;
	__bio_add_page(bio, io->page, PAGE_SIZE, 0);
	io->start_ns = 0;
	/* never counts down to 0 where it starts at 0 */
	if (unlikely(bb->to_sample && !--bb->to_sample)) {
		blk_bench_next_sample(bb);
		io->start_ns = ktime_get_ns();
	}
	submit_bio(bio);
}

/* Submits one batch and waits for all of it. */
static int blk_bench_batch(struct blk_bench *bb)
{
	unsigned int i, batch = bb->par.batch.val;
	struct blk_plug plug;

	bb->nr_inline = 0;
	atomic_set(&bb->pending, batch + 1);

	/*
	 * The number of bios lets blk-mq allocate their requests in one go.
	 * blk_start_plug_nr_ios() would tell it, but is not for modules.
	 */
	if (bb->par.plug) {
		blk_start_plug(&plug);
		plug.nr_ios = min_t(unsigned int, batch,
				    BLK_MAX_REQUEST_COUNT);
	}
	for (i = 0; i < batch; i++)
		blk_bench_submit(bb, &bb->ios[i]);
	if (bb->par.plug)
		blk_finish_plug(&plug);

	/* Whoever takes @pending to 0 ends the batch: this, or the last bio. */
	if (!atomic_sub_and_test(bb->nr_inline + 1, &bb->pending))
		wait_for_completion_io(&bb->done);

	if (unlikely(READ_ONCE(bb->status))) {
		pr_err("dev=%pg: I/O error %d, stopped\n", bb->bdev,
		       blk_status_to_errno(bb->status));
		return -EIO;
	}
	if (fatal_signal_pending(current)) {
		pr_info("dev=%pg: stopped by a signal\n", bb->bdev);
		return -EINTR;
	}
	cond_resched();
	return 0;
}

/*
 * Submits batches for @ms milliseconds. Looks at the clock only at the start and
 * at the end: it is what is measured, and would be 1/batch of the result.
 */
static int blk_bench_lap(struct blk_bench *bb, unsigned int ms, u64 *ios,
			 u64 *ns)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	u64 start = ktime_get_ns();
	int ret;

	*ios = 0;
	atomic_set(&bb->nr_sampled, 0);
	atomic64_set(&bb->lat_ns, 0);
	do {
		ret = blk_bench_batch(bb);
		if (ret)
			return ret;
		*ios += bb->par.batch.val;
	} while (time_before(jiffies, end));
	*ns = max_t(u64, ktime_get_ns() - start, 1);
	return 0;
}

/*
 * What comes to lie at the same place of a page as what else may be worth a tenth
 * of the result, and changes with the size of any stack frame. Each run has its
 * stack elsewhere, so that the runs together are not about that.
 */
static noinline int blk_bench_shifted_lap(struct blk_bench *bb, unsigned int ms,
					  u64 *ios, u64 *ns)
{
	u8 *ptr = __builtin_alloca(get_random_u32() & STACK_SHIFT_MASK);

	/* see add_random_kstack_offset() */
	asm volatile("" :: "r"(ptr) : "memory");
	return blk_bench_lap(bb, ms, ios, ns);
}

/* Shows one line of the result, and keeps it. No overflow below 30 M IOPS. */
static void blk_bench_report(struct blk_bench *bb, unsigned int run, u64 ios,
			     u64 ns)
{
	int sampled = atomic_read(&bb->nr_sampled);
	char line[RESULT_LINE_MAX], lat[SAMPLES_MAX] = "";

	if (sampled)
		snprintf(lat, sizeof(lat), " samples=%d lat_ns=%llu", sampled,
			 div64_u64(atomic64_read(&bb->lat_ns), sampled));
	snprintf(line, sizeof(line),
		 "dev=%pg op=%s batch=%u run=%u/%u ms=%llu ios=%llu%s iops=%llu",
		 bb->bdev, blk_bench_ops[bb->par.op].name, bb->par.batch.val,
		 run, bb->par.runs.val, div64_u64(ns, NSEC_PER_MSEC), ios, lat,
		 div64_u64(ios * NSEC_PER_SEC, ns));
	pr_info("%s\n", line);

	mutex_lock(&blk_bench_result_lock);
	seq_buf_printf(&blk_bench_result, pr_fmt("%s\n"), line);
	mutex_unlock(&blk_bench_result_lock);
}

static int blk_bench_new_result(unsigned int runs)
{
	size_t size = (size_t)runs * RESULT_LINE_MAX;
	char *buf = kvzalloc(size, GFP_KERNEL);

	if (!buf)
		return -ENOMEM;

	mutex_lock(&blk_bench_result_lock);
	kvfree(blk_bench_result.buffer);
	seq_buf_init(&blk_bench_result, buf, size);
	mutex_unlock(&blk_bench_result_lock);
	return 0;
}

static int blk_bench_measure(struct blk_bench *bb)
{
	const struct blk_bench_params *par = &bb->par;
	unsigned int run;
	u64 ios, ns;
	int ret;

	pr_info("dev=%pg op=%s batch=%u runs=%u ms=%u seed=%u pages=%llu\n",
		bb->bdev, blk_bench_ops[par->op].name, par->batch.val,
		par->runs.val, par->ms.val, par->seed.val, bb->nr_pages);

	ret = blk_bench_lap(bb, min_t(unsigned int, par->ms.val, WARMUP_MS_MAX),
			    &ios, &ns);
	for (run = 1; !ret && run <= par->runs.val; run++) {
		ret = blk_bench_shifted_lap(bb, par->ms.val, &ios, &ns);
		if (!ret)
			blk_bench_report(bb, run, ios, ns);
	}
	return ret;
}

static void blk_bench_free_ios(struct blk_bench *bb, unsigned int nr)
{
	while (nr--) {
		bio_uninit(&bb->ios[nr].bio);
		__free_page(bb->ios[nr].page);
	}
	kvfree(bb->ios);
}

static int blk_bench_alloc_ios(struct blk_bench *bb)
{
	unsigned int i;

	bb->ios = kvcalloc(bb->par.batch.val, sizeof(*bb->ios), GFP_KERNEL);
	if (!bb->ios)
		return -ENOMEM;

	for (i = 0; i < bb->par.batch.val; i++) {
		struct blk_bench_io *io = &bb->ios[i];

		io->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!io->page) {
			blk_bench_free_ios(bb, i);
			return -ENOMEM;
		}
		bio_init(&io->bio, NULL, &io->vec, 1, 0);
	}
	return 0;
}

static int blk_bench_open(struct blk_bench *bb)
{
	const char *dir = strchr(bb->par.dev, '/') ? "" : "/dev/";
	char *path;
	int ret = 0;

	path = kasprintf(GFP_KERNEL, "%s%s", dir, bb->par.dev);
	if (!path)
		return -ENOMEM;

	bb->mode = FMODE_READ | FMODE_EXCL;
	if (bb->par.op == BLK_BENCH_WRITE)
		bb->mode |= FMODE_WRITE;
	bb->bdev = blkdev_get_by_path(path, bb->mode, bb);
	if (IS_ERR(bb->bdev)) {
		ret = PTR_ERR(bb->bdev);
		pr_err("dev=%s: cannot open %s exclusively (%pe)\n",
		       bb->par.dev, path, bb->bdev);
		goto out_free;
	}

	bb->nr_pages = bdev_nr_sectors(bb->bdev) >> PAGE_SECTORS_SHIFT;
	if (!bb->nr_pages) {
		ret = -EINVAL;
		pr_err("dev=%pg: smaller than one page\n", bb->bdev);
		blkdev_put(bb->bdev, bb->mode);
	}
out_free:
	kfree(path);
	return ret;
}

/* Takes a copy of the parameters, refuses what must not be done. */
static int blk_bench_get_params(struct blk_bench_params *par)
{
	kernel_param_lock(THIS_MODULE);
	*par = blk_bench_par;
	kernel_param_unlock(THIS_MODULE);

	if (!par->dev[0]) {
		pr_err("no device: write its name to the parameter dev\n");
		return -EINVAL;
	}
	if (par->op == BLK_BENCH_WRITE && !par->allow_write) {
		pr_err("dev=%s: op=write destroys data, and needs allow_write=1\n",
		       par->dev);
		return -EPERM;
	}
	return 0;
}

static int blk_bench_run(void)
{
	struct blk_bench *bb;
	int ret;

	bb = kzalloc(sizeof(*bb), GFP_KERNEL);
	if (!bb)
		return -ENOMEM;
	bb->task = current;
	init_completion(&bb->done);

	ret = blk_bench_get_params(&bb->par);
	if (ret)
		goto out_free;
	bb->rnd = bb->par.seed.val;
	if (bb->par.sample.val)
		blk_bench_next_sample(bb);
	ret = blk_bench_open(bb);
	if (ret)
		goto out_free;
	ret = blk_bench_alloc_ios(bb);
	if (ret)
		goto out_put;
	ret = blk_bench_new_result(bb->par.runs.val);
	if (!ret)
		ret = blk_bench_measure(bb);

	blk_bench_free_ios(bb, bb->par.batch.val);
out_put:
	blkdev_put(bb->bdev, bb->mode);
out_free:
	kfree(bb);
	return ret;
}

/* The open file holds a reference to the module, so it cannot be unloaded. */
static ssize_t run_write(struct file *file, const char __user *ubuf,
			 size_t count, loff_t *ppos)
{
	unsigned int one;
	int ret;

	ret = kstrtouint_from_user(ubuf, count, 0, &one);
	if (ret == -EFAULT)
		return ret;
	if (ret || one != 1) {
		pr_err("run takes nothing but 1\n");
		return -EINVAL;
	}

	if (!mutex_trylock(&blk_bench_running)) {
		pr_err("busy with another benchmark\n");
		return -EBUSY;
	}
	ret = blk_bench_run();
	mutex_unlock(&blk_bench_running);
	return ret ?: count;
}

static const struct file_operations run_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= run_write,
	.llseek	= noop_llseek,
};

static int result_show(struct seq_file *m, void *unused)
{
	mutex_lock(&blk_bench_result_lock);
	if (blk_bench_result.buffer)
		seq_puts(m, blk_bench_result.buffer);
	mutex_unlock(&blk_bench_result_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init blk_bench_init(void)
{
	blk_bench_dir = debugfs_create_dir("blk-bench", NULL);
	debugfs_create_file("run", 0200, blk_bench_dir, NULL, &run_fops);
	debugfs_create_file("result", 0444, blk_bench_dir, NULL, &result_fops);
	return 0;
}

static void __exit blk_bench_exit(void)
{
	debugfs_remove_recursive(blk_bench_dir);
	kvfree(blk_bench_result.buffer);
}

module_init(blk_bench_init);
module_exit(blk_bench_exit);

MODULE_DESCRIPTION("Benchmark of the block layer's issue and completion paths");
MODULE_LICENSE("GPL");
