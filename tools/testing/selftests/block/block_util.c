// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "block_util.h"

#define NULLB	"/sys/kernel/config/nullb"

/* Where a hierarchy is mounted if there is none, in /dev for lack of better. */
#define OWN_CGROUP_ROOT	"/dev/cgroup-block-test"

enum {
	/* How long to wait for devtmpfs, and for tasks to leave a group. */
	RETRIES		= 50,
	RETRY_MS	= 100,
};

static char unmet[1024];

static char root_path[PATH_MAX];
static char group_path[PATH_MAX + NAME_MAX];
static bool root_mounted;
static bool io_enabled;

void need(bool met, const char *fmt, ...)
{
	size_t len = strlen(unmet);
	va_list args;

	if (met)
		return;
	len += snprintf(unmet + len, sizeof(unmet) - len, "%s",
			len ? "; " : "");
	if (len >= sizeof(unmet))
		return;
	va_start(args, fmt);
	vsnprintf(unmet + len, sizeof(unmet) - len, fmt, args);
	va_end(args);
}

const char *need_unmet(void)
{
	return unmet[0] ? unmet : NULL;
}

static int open_and_write(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd, ret = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		ret = -errno;
	close(fd);
	return ret;
}

int write_file(const char *text, const char *path_fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, path_fmt);
	vsnprintf(path, sizeof(path), path_fmt, args);
	va_end(args);
	return open_and_write(path, text);
}

int read_file(char *buf, size_t size, const char *path_fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	size_t len = 0;
	ssize_t n;
	int fd;

	va_start(args, path_fmt);
	vsnprintf(path, sizeof(path), path_fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + len, size - 1 - len);
		len += n > 0 ? n : 0;
	} while (n > 0);
	buf[len] = '\0';
	close(fd);
	return n < 0 ? -EIO : 0;
}

unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * NSEC_PER_MSEC,
	};

	nanosleep(&ts, NULL);
}

void spin_ms(unsigned int ms)
{
	unsigned long long end = now_ns() + ms * NSEC_PER_MSEC;

	while (now_ns() < end)
		;
}

int pin_to_cpu(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

bool nullb_available(void)
{
	if (access(NULLB, F_OK))
		mount("none", "/sys/kernel/config", "configfs", 0, NULL);
	return !access(NULLB, F_OK);
}

static int nullb_set(const char *name, char *config)
{
	char *pair, *value, *save;
	int ret;

	for (pair = strtok_r(config, " ", &save); pair;
	     pair = strtok_r(NULL, " ", &save)) {
		value = strchr(pair, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		ret = write_file(value, NULLB "/%s/%s", name, pair);
		if (ret)
			return ret;
	}
	return write_file("1", NULLB "/%s/power", name);
}

int nullb_create(const char *name, const char *config)
{
	char path[PATH_MAX];
	char *copy;
	int i, ret;

	/* A test that was killed may have left it behind. */
	nullb_destroy(name);
	snprintf(path, sizeof(path), NULLB "/%s", name);
	if (mkdir(path, 0755))
		return -errno;
	copy = strdup(config);
	if (!copy)
		return -ENOMEM;
	ret = nullb_set(name, copy);
	free(copy);
	if (ret)
		return ret;

	snprintf(path, sizeof(path), "/dev/%s", name);
	for (i = 0; i < RETRIES && access(path, F_OK); i++)
		sleep_ms(RETRY_MS);
	return i < RETRIES ? 0 : -ENODEV;
}

void nullb_destroy(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), NULLB "/%s", name);
	rmdir(path);
}

int nullb_open(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int diskstat_read(const char *disk, struct diskstat *ds)
{
	char line[512], name[64];
	int ret = -ENODEV;
	FILE *f;

	f = fopen("/proc/diskstats", "re");
	if (!f)
		return -errno;
	while (ret && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*u %*u %63s %llu %*u %*u %llu",
			   name, &ds->reads, &ds->read_ms) == 3 &&
		    !strcmp(name, disk))
			ret = 0;
	}
	fclose(f);
	return ret;
}

int disk_devno(const char *disk, char *buf, size_t size)
{
	int ret = read_file(buf, size, "/sys/block/%s/dev", disk);

	buf[strcspn(buf, "\n")] = '\0';
	return ret;
}

static bool cg_find_root(void)
{
	char mounts[16384], path[PATH_MAX], type[64];
	char *line, *save;

	if (read_file(mounts, sizeof(mounts), "/proc/mounts"))
		return false;
	for (line = strtok_r(mounts, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%*s %4095s %63s", path, type) == 2 &&
		    !strcmp(type, "cgroup2")) {
			strcpy(root_path, path);
			return true;
		}
	}
	return false;
}

static bool cg_mount_root(void)
{
	if (mkdir(OWN_CGROUP_ROOT, 0755) && errno != EEXIST)
		return false;
	if (mount("none", OWN_CGROUP_ROOT, "cgroup2", 0, NULL)) {
		rmdir(OWN_CGROUP_ROOT);
		return false;
	}
	strcpy(root_path, OWN_CGROUP_ROOT);
	root_mounted = true;
	return true;
}

static bool cg_enable_io(void)
{
	char text[256];

	if (read_file(text, sizeof(text), "%s/cgroup.subtree_control", root_path))
		return false;
	if (strstr(text, "io"))
		return true;
	io_enabled = !write_file("+io", "%s/cgroup.subtree_control", root_path);
	return io_enabled;
}

bool cg_setup(const char *name)
{
	if (!cg_find_root() && !cg_mount_root())
		return false;
	if (!cg_enable_io())
		return false;
	snprintf(group_path, sizeof(group_path), "%s/%s-%d", root_path, name, getpid());
	if (mkdir(group_path, 0755)) {
		group_path[0] = '\0';
		return false;
	}
	return true;
}

const char *cg_root(void)
{
	return root_path;
}

const char *cg_path(void)
{
	return group_path;
}

bool cg_has(const char *file)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", group_path, file);
	return !access(path, F_OK);
}

void cg_teardown(void)
{
	int i;

	if (group_path[0]) {
		write_file("0", "%s/cgroup.procs", root_path);
		for (i = 0; i < RETRIES && rmdir(group_path); i++)
			sleep_ms(RETRY_MS);
	}
	if (io_enabled)
		write_file("-io", "%s/cgroup.subtree_control", root_path);
	if (root_mounted) {
		umount(OWN_CGROUP_ROOT);
		rmdir(OWN_CGROUP_ROOT);
	}
}

int cg_enter(void)
{
	return write_file("0", "%s/cgroup.procs", group_path);
}

unsigned long long cg_io_stat(const char *disk, const char *key)
{
	char text[4096], devno[32];
	size_t key_len = strlen(key);
	char *line, *word, *save, *save_word;

	if (disk_devno(disk, devno, sizeof(devno)) ||
	    read_file(text, sizeof(text), "%s/io.stat", group_path))
		return 0;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		word = strtok_r(line, " ", &save_word);
		if (!word || strcmp(word, devno))
			continue;
		while ((word = strtok_r(NULL, " ", &save_word))) {
			if (!strncmp(word, key, key_len) &&
			    word[key_len] == '=')
				return strtoull(word + key_len + 1, NULL, 10);
		}
	}
	return 0;
}
