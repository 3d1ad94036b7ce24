# shellcheck shell=bash
# Sourced by every script: paths, messages, progress, results, ccache and the
# package that the series is made for.  What follows holds for all of them.
#
# Messages and progress go to stderr; stdout is kept for results.  A stage of
# ./check (static, kunit, kselftest ...) writes one line per test to stdout:
#
#	ok - NAME
#	not ok - NAME
#	ok - NAME # SKIP why
#
# with the functions ok, not_ok and skip below, and details as "# ..." lines.
# check adds these lines up.  A stage exits with 0 when all passed, with 1 when
# some failed; a stage that ends otherwise, or that wrote no line at all, is
# counted as one failure under its own name.

export LC_ALL=C
# The distribution's tools, not what else a user has installed by these names
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SERIES=${SERIES:-6.1}
BUILD=${BUILD:-$TOP/build}		# trees, kernels, logs, ccache
OUT=${OUT:-$TOP/out}			# what a person looks at
QUEUE=$TOP/patches/$SERIES
JOBS=${JOBS:-$(nproc)}
export BUILD OUT SERIES JOBS

# A make that called us must not steer the kernel's make, and neither must what
# the user has set for kernels of their own.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
unset ARCH CROSS_COMPILE KBUILD_OUTPUT KCONFIG_CONFIG KCFLAGS C W O V

# The same object in two trees is compiled once: the paths that the compiler
# sees are relative (see obj_dir), and nothing it sees depends on time or host.
export CCACHE_DIR=${CCACHE_DIR:-$BUILD/ccache}
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-8G}
export KBUILD_BUILD_TIMESTAMP=2026-01-01
export KBUILD_BUILD_USER=b
export KBUILD_BUILD_HOST=b

say() { progress_end; echo "$*" >&2; }

die() { progress_end; echo "${0##*/}: $*" >&2; exit 1; }

# usage: prints the comment at the top of the script
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# progress TEXT: what is going on just now.  A terminal has one line that is
# rewritten, at most every PROGRESS_TTY seconds; a log has a line every
# PROGRESS_LOG seconds.
PROGRESS_TTY=1
PROGRESS_LOG=30
_progress_last=-$PROGRESS_LOG
_progress_open=

progress()
{
	local every=$PROGRESS_LOG

	[ -t 2 ] && every=$PROGRESS_TTY
	((SECONDS - _progress_last >= every)) || return 0
	_progress_last=$SECONDS
	if [ -t 2 ]; then
		printf '\r\033[K%s' "$*" >&2
		_progress_open=1
	else
		echo "$*" >&2
	fi
}

progress_end()
{
	[ -z "$_progress_open" ] || printf '\r\033[K' >&2
	_progress_open=
}

# elapsed SECONDS: 7 s, 3 min 20 s
elapsed()
{
	if (($1 < 60)); then
		echo "$1 s"
	else
		echo "$(($1 / 60)) min $(($1 % 60)) s"
	fi
}

# ok NAME; not_ok NAME; skip NAME WHY: the result of one test.  FAILED counts
# the second, so that a stage can end with: exit $((FAILED > 0))
FAILED=0
ok() { progress_end; echo "ok - $*"; }
not_ok() { progress_end; echo "not ok - $*"; FAILED=$((FAILED + 1)); }
skip() { progress_end; echo "ok - $1 # SKIP $2"; }

# details: standard input as "# " lines under a result
details() { sed 's/^/# /'; }

# pin KEY: the source package that the series is made for (package, version).
pin() { sed -n "s/^$1=//p" "$QUEUE/base"; }

[ -r "$QUEUE/base" ] || die "no series for kernel $SERIES: $QUEUE/base is missing"
# shellcheck disable=SC2034 # used by those who source this file
PKG=$(pin package) PKG_VERSION=$(pin version)

# tree_dir base|patched: the checkout of the unpatched and the patched kernel
tree_dir()
{
	case $1 in
	base) echo "$BUILD/base-$SERIES" ;;
	patched) echo "$BUILD/linux-$SERIES" ;;
	*) die "no such tree: '$1' (base or patched)" ;;
	esac
}

# obj_dir um|x86|kasan base|patched: where it is built.  A direct child of the tree,
# for then kbuild calls the source tree ".." and the ccache hits in all trees.
obj_dir()
{
	local tree

	tree=$(tree_dir "$2") || exit 1
	case $1 in
	um | x86 | kasan) echo "$tree/.o-$1" ;;
	*) die "no such kind of kernel: '$1' (um, x86 or kasan)" ;;
	esac
}

# kernel_image um|x86|kasan base|patched: the file that boots
kernel_image()
{
	local obj

	obj=$(obj_dir "$1" "$2") || exit 1
	case $1 in
	um) echo "$obj/linux" ;;
	*) echo "$obj/arch/x86/boot/bzImage" ;;
	esac
}

# kmake um|x86|kasan SOURCE-DIR MAKE-ARGUMENT...: the kernel's make for one kind
kmake()
{
	local kind=$1 src=$2 arch=um

	shift 2
	[ "$kind" = um ] || arch=x86_64
	make -C "$src" ARCH=$arch O=".o-$kind" CC="ccache gcc" \
		HOSTCC="ccache gcc" "$@"
}
