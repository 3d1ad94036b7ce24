// SPDX-License-Identifier: GPL-2.0
/*
 * A task that is preempted while it submits: the time for which it did not run
 * is no latency of the I/O that it submits afterwards.
 *
 * A batch of I/O is submitted in one system call, and so under one plug:
 *
 *	read "early", wake, read "late", read "late", ...
 *
 * "Wake" writes to a pipe. That wakes a SCHED_FIFO task on the same CPU, which
 * preempts the submitter right there in the kernel, and spins. So the request to
 * the device "early", which waits in the plug, has a latency of the time of the
 * spin at least. The requests to "late" have not even been made by then, and
 * must not show it.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../kselftest.h"
#include "batch_io.h"
#include "block_util.h"

#define EARLY		"blkt_early"
#define LATE		"blkt_late"

/*
 * Reads complete inside of the flush of the plug. The depth is one that lets
 * blk-mq find the tags for a whole batch side by side.
 */
#define NULLB_CONFIG	\
	"size=64 queue_mode=2 irqmode=0 submit_queues=1 hw_queue_depth=256"

#define DEBUG_STATS	"/sys/module/blk_cgroup/parameters/blkcg_debug_stats"

enum {
	/* The CPU that the submitter and its preempter share. */
	CPU		= 0,

	/* Enough for a median that does not mind a round with an accident. */
	ROUNDS		= 10,

	/*
	 * Far more than a batch takes on an emulated CPU, and more than a tick:
	 * a stamp that does not survive ticks never shows much.
	 */
	SPIN_MS		= 100,

	/* The submitter's share, lest the preempter is throttled. */
	REST_MS		= 120,

	NR_LATE		= 16,

	/* Above this the spin shows up in what must not show it. */
	LIMIT_MS	= SPIN_MS / 4,
};

/* The SCHED_FIFO task. It spins whenever it gets a byte, then sends one back. */
static struct preempter {
	pthread_t		thread;
	int			wake[2];
	int			done[2];
	bool			running;
	int			error;
	/* What it found at its last turn, and how long that was. */
	unsigned long long	late_reads;
	unsigned long long	spun_ns;
} preempter;

static int early_fd = -1;
static int late_fd = -1;
static char late_devno[32];

/**
 * struct round - what one batch showed
 * @early_ms: mean latency of the reads of EARLY, in ms
 * @late_ms: the same of LATE
 * @submitter_ms: time that the submission took without the spin
 */
struct round {
	double	early_ms;
	double	late_ms;
	double	submitter_ms;
};

static void *preempter_fn(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };
	struct preempter *p = arg;
	unsigned long long start;
	struct diskstat late;
	char byte = 0;

	p->error = sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
	if (write(p->done[1], &byte, 1) != 1 || p->error)
		return NULL;

	while (read(p->wake[0], &byte, 1) == 1) {
		start = now_ns();
		p->error = diskstat_read(LATE, &late);
		p->late_reads = late.reads;
		spin_ms(SPIN_MS);
		p->spun_ns = now_ns() - start;
		if (write(p->done[1], &byte, 1) != 1)
			break;
	}
	return NULL;
}

static int preempter_wait(void)
{
	char byte;

	return read(preempter.done[0], &byte, 1) == 1 ? preempter.error : -EIO;
}

/* It inherits the CPU of the caller. */
static int preempter_start(void)
{
	int ret;

	if (pipe2(preempter.wake, O_CLOEXEC))
		return -errno;
	if (pipe2(preempter.done, O_CLOEXEC))
		return -errno;
	/* io_uring writes without a worker only to what cannot block. */
	if (fcntl(preempter.wake[1], F_SETFL, O_NONBLOCK))
		return -errno;
	ret = -pthread_create(&preempter.thread, NULL, preempter_fn, &preempter);
	if (ret)
		return ret;
	preempter.running = true;
	return preempter_wait();
}

static void preempter_stop(void)
{
	if (!preempter.running)
		return;
	close(preempter.wake[1]);
	pthread_join(preempter.thread, NULL);
}

static double mean_ms(const struct diskstat *from, const struct diskstat *to)
{
	unsigned long long reads = to->reads - from->reads;

	return reads ? (double)(to->read_ms - from->read_ms) / reads : 0;
}

/* Submits a batch whose first read goes to @first_fd. */
static int do_round(const struct batch_iface *iface, int first_fd,
		    struct round *round)
{
	struct batch_io ios[2 + NR_LATE] = {
		{ BATCH_READ, first_fd },
		{ BATCH_WAKE, preempter.wake[1] },
	};
	struct diskstat early[2], late[2];
	long long took;
	int i, ret;

	for (i = 0; i < NR_LATE; i++)
		ios[2 + i] = (struct batch_io){ BATCH_READ, late_fd };

	if (diskstat_read(EARLY, &early[0]) || diskstat_read(LATE, &late[0]))
		return -EIO;
	took = iface->submit(ios, ARRAY_SIZE(ios));
	if (took < 0) {
		ksft_print_msg("%s: %s\n", iface->name, strerror(-took));
		return took;
	}
	ret = preempter_wait();
	if (ret)
		return ret;
	if (diskstat_read(EARLY, &early[1]) || diskstat_read(LATE, &late[1]))
		return -EIO;
	if (preempter.late_reads != late[0].reads) {
		ksft_print_msg("%s: not preempted in the midst of a batch\n",
			       iface->name);
		return -EAGAIN;
	}

	round->early_ms = mean_ms(&early[0], &early[1]);
	round->late_ms = mean_ms(&late[0], &late[1]);
	round->submitter_ms = (took - (double)preempter.spun_ns) / NSEC_PER_MSEC;
	sleep_ms(REST_MS);
	return 0;
}

static int compare(const void *a, const void *b)
{
	double diff = *(const double *)a - *(const double *)b;

	return (diff > 0) - (diff < 0);
}

static double median(const struct round *rounds, bool late)
{
	double values[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++)
		values[i] = late ? rounds[i].late_ms : rounds[i].early_ms;
	qsort(values, ROUNDS, sizeof(values[0]), compare);
	return (values[(ROUNDS - 1) / 2] + values[ROUNDS / 2]) / 2;
}

/* /proc/diskstats shows the spin where it is latency, and only there. */
static int test_diskstats(void)
{
	struct round rounds[ROUNDS];
	int i, ret = KSFT_FAIL;
	double early, late;

	if (batch_aio.open())
		return ret;
	for (i = 0; i < ROUNDS; i++)
		if (do_round(&batch_aio, early_fd, &rounds[i]))
			goto cleanup;

	early = median(rounds, false);
	late = median(rounds, true);
	ksft_print_msg("spin %d ms, mean latency in the plug %.1f ms, afterwards %.1f ms\n",
		       SPIN_MS, early, late);
	if (early >= SPIN_MS * 0.9 && late < LIMIT_MS)
		ret = KSFT_PASS;
cleanup:
	batch_aio.close();
	return ret;
}

/*
 * The first read to LATE has requests allocated for those to come as well. They
 * are used after the spin, and must not be dated before it.
 */
static int test_diskstats_allocated_ahead(void)
{
	struct round rounds[ROUNDS];
	int i, ret = KSFT_FAIL;
	double late;

	if (batch_uring.open())
		return ret;
	for (i = 0; i < ROUNDS; i++)
		if (do_round(&batch_uring, late_fd, &rounds[i]))
			goto cleanup;

	late = median(rounds, true);
	ksft_print_msg("mean latency %.1f ms, of which %.1f ms for the first read\n",
		       late, (double)SPIN_MS / (NR_LATE + 1));
	if (late < LIMIT_MS)
		ret = KSFT_PASS;
cleanup:
	batch_uring.close();
	return ret;
}

/* io.latency counts an I/O that took longer than its target as missed. */
static int test_io_latency(void)
{
	unsigned long long missed = 0, total = 0;
	char target[64];
	int i, ret = KSFT_FAIL;
	struct round round;

	if (batch_aio.open())
		return ret;
	snprintf(target, sizeof(target), "%s target=%d", late_devno,
		 LIMIT_MS * 1000);
	if (write_file(target, "%s/io.latency", cg_path()))
		goto cleanup;
	/* It is switched on by a work item. */
	sleep_ms(REST_MS);

	for (i = 0; i < ROUNDS; i++) {
		if (do_round(&batch_aio, early_fd, &round))
			goto cleanup;
		missed += cg_io_stat(LATE, "missed");
		total += cg_io_stat(LATE, "total");
	}
	ksft_print_msg("io.latency target missed by %llu of %llu\n", missed,
		       total);
	if (total >= NR_LATE && missed * 4 < total)
		ret = KSFT_PASS;
cleanup:
	snprintf(target, sizeof(target), "%s target=0", late_devno);
	write_file(target, "%s/io.latency", cg_path());
	batch_aio.close();
	return ret;
}

static int iocost_enable(void)
{
	char text[256];
	int ret;

	/* 20 ms for each read: the submitter has to wait after the spin. */
	snprintf(text, sizeof(text),
		 "%s ctrl=user model=linear rbps=1000000000 rseqiops=50 rrandiops=50 wbps=1000000000 wseqiops=50 wrandiops=50",
		 late_devno);
	ret = write_file(text, "%s/io.cost.model", cg_root());
	if (ret)
		return ret;
	snprintf(text, sizeof(text),
		 "%s enable=1 ctrl=user rpct=0 rlat=5000 wpct=0 wlat=5000 min=100 max=100",
		 late_devno);
	return write_file(text, "%s/io.cost.qos", cg_root());
}

static void iocost_disable(void)
{
	char text[64];

	snprintf(text, sizeof(text), "%s enable=0", late_devno);
	write_file(text, "%s/io.cost.qos", cg_root());
}

/* The wait that io.cost shows is the wait that there was. */
static int test_io_cost_wait(void)
{
	double waited_ms, shown_ms, submitter_ms = 0;
	int i, ret = KSFT_FAIL;
	struct round round;

	if (batch_aio.open())
		return ret;
	if (iocost_enable())
		goto cleanup;

	for (i = 0; i < ROUNDS; i++) {
		if (do_round(&batch_aio, early_fd, &round))
			goto cleanup;
		submitter_ms += round.submitter_ms;
	}
	/* What is shown is updated once a period, which is shorter than that. */
	sleep_ms(5 * REST_MS);
	shown_ms = cg_io_stat(LATE, "cost.wait") / 1000.0 / ROUNDS;
	waited_ms = submitter_ms / ROUNDS;
	ksft_print_msg("a batch took %.1f ms without the spin, cost.wait shows %.1f ms\n",
		       waited_ms, shown_ms);
	if (waited_ms >= LIMIT_MS && shown_ms >= waited_ms / 2 &&
	    shown_ms <= waited_ms + LIMIT_MS)
		ret = KSFT_PASS;
cleanup:
	iocost_disable();
	batch_aio.close();
	return ret;
}

static bool preemptible_kernel(void)
{
	char mode[128] = "";
	struct utsname name;

	/* Where it can be chosen at boot, the choice stands in debugfs. */
	if (!read_file(mode, sizeof(mode), "/sys/kernel/debug/sched/preempt"))
		return strstr(mode, "(full)");
	return !uname(&name) && strstr(name.version, "PREEMPT");
}

static int setup(void)
{
	int ret;

	ret = nullb_create(EARLY, NULLB_CONFIG);
	if (ret)
		return ret;
	ret = nullb_create(LATE, NULLB_CONFIG);
	if (ret)
		return ret;
	early_fd = nullb_open(EARLY);
	late_fd = nullb_open(LATE);
	if (early_fd < 0 || late_fd < 0)
		return -ENODEV;
	ret = disk_devno(LATE, late_devno, sizeof(late_devno));
	if (ret)
		return ret;
	ret = cg_enter();
	if (ret)
		return ret;
	ret = pin_to_cpu(CPU);
	if (ret)
		return ret;
	return preempter_start();
}

static void teardown(void)
{
	preempter_stop();
	if (early_fd >= 0)
		close(early_fd);
	if (late_fd >= 0)
		close(late_fd);
	cg_teardown();
	nullb_destroy(LATE);
	nullb_destroy(EARLY);
}

static void check_needs(void)
{
	bool cg = false;

	need(!geteuid(), "must be run as root");
	need(nullb_available(), "no null_blk in configfs");
	need(preemptible_kernel(), "the kernel is not preemptible");
	if (!geteuid()) {
		cg = cg_setup("blk-preempt");
		need(cg, "no cgroup v2 with the io controller");
	}
	need(!cg || cg_has("io.latency"), "no io.latency");
	need(!cg || cg_has("io.weight"), "no io.cost");
	need(!access(DEBUG_STATS, W_OK), "no " DEBUG_STATS);
}

static const struct {
	int		(*fn)(void);
	const char	*name;
} tests[] = {
	{ test_diskstats, "test_diskstats" },
	{ test_diskstats_allocated_ahead, "test_diskstats_allocated_ahead" },
	{ test_io_latency, "test_io_latency" },
	{ test_io_cost_wait, "test_io_cost_wait" },
};

static void run_tests(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		ksft_test_result(tests[i].fn() == KSFT_PASS, "%s\n",
				 tests[i].name);
}

int main(void)
{
	char debug_stats[8];
	int ret;

	/* Results come in the order in which they are made, also into a pipe. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	ksft_print_header();
	check_needs();
	if (need_unmet()) {
		cg_teardown();
		ksft_exit_skip("%s\n", need_unmet());
	}
	ksft_set_plan(ARRAY_SIZE(tests));

	read_file(debug_stats, sizeof(debug_stats), DEBUG_STATS);
	write_file("1", DEBUG_STATS);
	ret = setup();
	if (!ret)
		run_tests();
	teardown();
	write_file(debug_stats, DEBUG_STATS);
	if (ret)
		ksft_exit_fail_msg("setup: %s\n", strerror(-ret));
	ksft_finished();
}
