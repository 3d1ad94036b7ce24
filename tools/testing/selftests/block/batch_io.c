// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batch_io.h"
#include "block_util.h"

/* Aligned as direct I/O needs it, and kept until the test ends. */
static char (*buffers)[BATCH_IO_SIZE];

static int get_buffers(void)
{
	if (!buffers)
		buffers = aligned_alloc(BATCH_IO_SIZE,
					BATCH_MAX * BATCH_IO_SIZE);
	return buffers ? 0 : -ENOMEM;
}

/* A hole between any two positions keeps the reads from being merged. */
static unsigned long long position(unsigned int i)
{
	return 2ULL * i * BATCH_IO_SIZE;
}

static unsigned int size_of(const struct batch_io *io)
{
	return io->op == BATCH_READ ? BATCH_IO_SIZE : 1;
}

static aio_context_t aio_ctx;

static int aio_open(void)
{
	int ret = get_buffers();

	if (ret)
		return ret;
	return syscall(SYS_io_setup, BATCH_MAX, &aio_ctx) ? -errno : 0;
}

static void aio_close(void)
{
	syscall(SYS_io_destroy, aio_ctx);
	aio_ctx = 0;
}

static int aio_reap(const struct batch_io *ios, unsigned int nr)
{
	struct io_event events[BATCH_MAX];
	unsigned int i;

	if (syscall(SYS_io_getevents, aio_ctx, nr, nr, events, NULL) != nr)
		return -EIO;
	for (i = 0; i < nr; i++)
		if (events[i].res != size_of(&ios[events[i].data]))
			return -EIO;
	return 0;
}

static long long aio_submit(const struct batch_io *ios, unsigned int nr)
{
	struct iocb iocbs[BATCH_MAX], *ptrs[BATCH_MAX];
	unsigned long long start, took;
	unsigned int i;
	int ret;

	memset(iocbs, 0, sizeof(iocbs));
	for (i = 0; i < nr; i++) {
		bool read = ios[i].op == BATCH_READ;

		iocbs[i].aio_data = i;
		iocbs[i].aio_lio_opcode = read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
		iocbs[i].aio_fildes = ios[i].fd;
		iocbs[i].aio_buf = (uintptr_t)buffers[i];
		iocbs[i].aio_nbytes = size_of(&ios[i]);
		iocbs[i].aio_offset = read ? position(i) : 0;
		ptrs[i] = &iocbs[i];
	}

	start = now_ns();
	if (syscall(SYS_io_submit, aio_ctx, nr, ptrs) != nr)
		return -EIO;
	took = now_ns() - start;
	ret = aio_reap(ios, nr);
	return ret ? ret : (long long)took;
}

const struct batch_iface batch_aio = {
	.name	= "aio",
	.open	= aio_open,
	.submit	= aio_submit,
	.close	= aio_close,
};

static struct {
	int			fd;
	void			*rings;
	size_t			rings_size;
	struct io_uring_params	par;
	struct io_uring_sqe	*sqes;
} uring;

static unsigned int *ring_field(unsigned int offset)
{
	return (unsigned int *)((char *)uring.rings + offset);
}

static size_t sqes_size(void)
{
	return uring.par.sq_entries * sizeof(struct io_uring_sqe);
}

static int uring_open(void)
{
	struct io_uring_params *par = &uring.par;
	int ret;

	ret = get_buffers();
	if (ret)
		return ret;
	memset(par, 0, sizeof(*par));
	uring.fd = syscall(SYS_io_uring_setup, BATCH_MAX, par);
	if (uring.fd < 0)
		return -errno;

	ret = -EOPNOTSUPP;
	if (!(par->features & IORING_FEAT_SINGLE_MMAP))
		goto out_close;
	uring.rings_size = par->cq_off.cqes +
			   par->cq_entries * sizeof(struct io_uring_cqe);
	if (uring.rings_size < par->sq_off.array + par->sq_entries * sizeof(int))
		uring.rings_size = par->sq_off.array +
				   par->sq_entries * sizeof(int);
	uring.rings = mmap(NULL, uring.rings_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, uring.fd, IORING_OFF_SQ_RING);
	if (uring.rings == MAP_FAILED)
		goto out_errno;
	uring.sqes = mmap(NULL, sqes_size(), PROT_READ | PROT_WRITE,
			  MAP_SHARED, uring.fd, IORING_OFF_SQES);
	if (uring.sqes == MAP_FAILED)
		goto out_unmap;
	return 0;

out_unmap:
	munmap(uring.rings, uring.rings_size);
out_errno:
	ret = -ENOMEM;
out_close:
	close(uring.fd);
	return ret;
}

static void uring_close(void)
{
	munmap(uring.sqes, sqes_size());
	munmap(uring.rings, uring.rings_size);
	close(uring.fd);
}

static void uring_prepare(const struct batch_io *ios, unsigned int nr)
{
	const struct io_sqring_offsets *off = &uring.par.sq_off;
	unsigned int *array = ring_field(off->array);
	unsigned int *tail = ring_field(off->tail);
	unsigned int mask = *ring_field(off->ring_mask);
	unsigned int i, slot;

	for (i = 0; i < nr; i++) {
		bool read = ios[i].op == BATCH_READ;
		struct io_uring_sqe *sqe;

		slot = (*tail + i) & mask;
		sqe = &uring.sqes[slot];
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = read ? IORING_OP_READ : IORING_OP_WRITE;
		sqe->fd = ios[i].fd;
		sqe->addr = (uintptr_t)buffers[i];
		sqe->len = size_of(&ios[i]);
		sqe->off = read ? position(i) : 0;
		sqe->user_data = i;
		array[slot] = slot;
	}
	__atomic_store_n(tail, *tail + nr, __ATOMIC_RELEASE);
}

static int uring_reap(const struct batch_io *ios, unsigned int nr)
{
	const struct io_cqring_offsets *off = &uring.par.cq_off;
	unsigned int *head = ring_field(off->head);
	unsigned int mask = *ring_field(off->ring_mask);
	struct io_uring_cqe *cqes = (void *)ring_field(off->cqes);
	unsigned int tail = __atomic_load_n(ring_field(off->tail),
					    __ATOMIC_ACQUIRE);
	int ret = tail - *head == nr ? 0 : -EIO;

	for (; *head != tail; __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE)) {
		struct io_uring_cqe *cqe = &cqes[*head & mask];

		if (cqe->res != (int)size_of(&ios[cqe->user_data]))
			ret = -EIO;
	}
	return ret;
}

static long long uring_submit(const struct batch_io *ios, unsigned int nr)
{
	unsigned long long start, took;
	int ret;

	uring_prepare(ios, nr);
	start = now_ns();
	if (syscall(SYS_io_uring_enter, uring.fd, nr, nr,
		    IORING_ENTER_GETEVENTS, NULL, 0) != nr)
		return -EIO;
	took = now_ns() - start;
	ret = uring_reap(ios, nr);
	return ret ? ret : (long long)took;
}

const struct batch_iface batch_uring = {
	.name	= "io_uring",
	.open	= uring_open,
	.submit	= uring_submit,
	.close	= uring_close,
};
