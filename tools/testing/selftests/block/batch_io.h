/* SPDX-License-Identifier: GPL-2.0 */
/* Batches of I/O that reach the kernel in one system call, under one plug. */
#ifndef BATCH_IO_H
#define BATCH_IO_H

enum {
	BATCH_MAX	= 64,
	BATCH_IO_SIZE	= 4096,
};

enum batch_op {
	BATCH_READ,	/* one page of @fd, at a position of its own */
	BATCH_WAKE,	/* one byte into the pipe @fd, which must not be full */
};

struct batch_io {
	enum batch_op	op;
	int		fd;
};

/**
 * struct batch_iface - a way to submit batches
 * @name: its name
 * @open: gets ready; 0 or -errno
 * @submit: submits all @nr of @ios in their order and waits for all of them;
 *	    the time in ns that the system call took, or -errno
 * @close: undoes @open
 */
struct batch_iface {
	const char	*name;
	int		(*open)(void);
	long long	(*submit)(const struct batch_io *ios, unsigned int nr);
	void		(*close)(void);
};

extern const struct batch_iface batch_aio;

/* Has blk-mq allocate requests ahead, as many as the batch may need. */
extern const struct batch_iface batch_uring;

#endif /* BATCH_IO_H */
