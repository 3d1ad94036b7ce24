/* SPDX-License-Identifier: GPL-2.0 */
/* What the C tests of the block layer share. */
#ifndef BLOCK_UTIL_H
#define BLOCK_UTIL_H

#include <stdbool.h>

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* The fields of /proc/diskstats that the tests look at, of reads. */
struct diskstat {
	unsigned long long reads;
	unsigned long long read_ms;
};

/*
 * Needs: each call of need() whose condition is false adds its reason, and
 * need_unmet() tells all of them, or NULL if there are none.
 */
void need(bool met, const char *fmt, ...);
const char *need_unmet(void);

/* All below return 0 or -errno if nothing else is said. */
int write_file(const char *text, const char *path_fmt, ...);
int read_file(char *buf, size_t size, const char *path_fmt, ...);

unsigned long long now_ns(void);
void sleep_ms(unsigned int ms);
void spin_ms(unsigned int ms);
int pin_to_cpu(unsigned int cpu);

/* Mounts configfs if need be, and tells whether null_blk can be configured. */
bool nullb_available(void);
/* @config: "attribute=value attribute=value ..." */
int nullb_create(const char *name, const char *config);
void nullb_destroy(const char *name);
/* Opens a block device for direct reads; a file descriptor or -errno. */
int nullb_open(const char *name);

int diskstat_read(const char *disk, struct diskstat *ds);
/* "major:minor" of a disk */
int disk_devno(const char *disk, char *buf, size_t size);

/*
 * Finds the cgroup v2 hierarchy, or mounts one, and makes a group with the io
 * controller in it, which the functions below are about. False if it cannot.
 */
bool cg_setup(const char *name);
void cg_teardown(void);
const char *cg_root(void);
const char *cg_path(void);
bool cg_has(const char *file);
int cg_enter(void);
/* The value of @key in the line of @disk in the group's io.stat, 0 if none. */
unsigned long long cg_io_stat(const char *disk, const char *key);

#endif /* BLOCK_UTIL_H */
