# shellcheck shell=bash
# Sourced by tree, export and series, after lib.sh: from the queue to commits
# and back.  The queue is patches/$SERIES together with the overlay files, those
# that the kernel does not have, each named by an "Overlay: PATH" trailer of the
# patch that it comes in with.
#
# Both directions work on git's objects alone, never on a checkout, and give
# the same commits and patches for the same input.  So there is nothing to roll
# back when a patch fails, and whether a tree is up to date is a comparison of
# two hashes.

shopt -s inherit_errexit

# shellcheck disable=SC2046 # a list of names
unset $(git rev-parse --local-env-vars)

# Scratch space for this file and for the script that sources it
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# kgit ARGUMENT...: git in the kernel tree, deaf to the user's configuration
KGIT_TREE=$(tree_dir patched)
kgit()
{
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -C "$KGIT_TREE" "$@"
}

# igit ARGUMENT...: the same on a scratch index
igit()
{
	GIT_INDEX_FILE=$WORK/index kgit "$@"
}

# queue_patches: the patches, in the order of patches/$SERIES/series
queue_patches()
{
	[ ! -e "$QUEUE/series" ] || sed '/^#/d; /^[[:space:]]*$/d' "$QUEUE/series"
}

# queue_overlays PATCH...: the overlay files that they name
queue_overlays()
{
	[ $# = 0 ] || (cd "$QUEUE" && awk '/^---$/ { nextfile } sub(/^Overlay: /, "")' "$@")
}

# commit_as NAME MAIL DATE TREE [-p PARENT]: commits standard input's message
commit_as()
{
	local name=$1 mail=$2 date=$3

	shift 3
	kgit stripspace |
		GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$mail GIT_AUTHOR_DATE=$date \
		GIT_COMMITTER_NAME=queue GIT_COMMITTER_EMAIL=queue@localhost \
		GIT_COMMITTER_DATE=$date kgit commit-tree "$@" -F -
}

# _overlay_add PATCH PATH: adds an overlay file to the index
_overlay_add()
{
	local mode=100644 blob

	[ -f "$TOP/$2" ] || die "$2 is missing, which $1 names in an Overlay: trailer"
	! kgit cat-file -e "base:$2" 2>/dev/null ||
		die "$2 is an overlay file of $1, but the kernel source has it"
	[ ! -x "$TOP/$2" ] || mode=100755
	blob=$(kgit hash-object -w --no-filters "$TOP/$2")
	igit update-index --add --cacheinfo "$mode,$blob,$2"
}

# _apply_failed PATCH ERRORS: says in one line what does not fit
_apply_failed()
{
	local where

	where=$(sed -n 's/^error: patch failed: \(.*\):\([0-9]*\)$/\1 line \2/p' "$2")
	[ -n "$where" ] || where=$(sed -n 's/^error: \(.*\): .*/\1/p' "$2")
	where=${where%%$'\n'*}
	die "$1 does not apply to ${where:-the tree} of $PKG $(kgit config queue.version)" \
		"(the series is made for $PKG_VERSION)"
}

# queue_apply_one PARENT PATCH: prints the new commit; works on the scratch
# index
queue_apply_one()
{
	local overlay name mail date tree

	[ -f "$QUEUE/$2" ] || die "$QUEUE/series names $2, which is missing"
	kgit mailinfo -b "$WORK/message" "$WORK/patch" <"$QUEUE/$2" >"$WORK/info" ||
		die "$2 is no patch in the form of git format-patch"
	igit apply --cached --allow-empty --whitespace=nowarn "$WORK/patch" \
		2>"$WORK/errors" || _apply_failed "$2" "$WORK/errors"
	while read -r overlay; do
		_overlay_add "$2" "$overlay"
	done < <(queue_overlays "$2")
	name=$(sed -n 's/^Author: //p' "$WORK/info")
	mail=$(sed -n 's/^Email: //p' "$WORK/info")
	date=$(sed -n 's/^Date: //p' "$WORK/info")
	tree=$(igit write-tree)
	{
		sed -n 's/^Subject: //p' "$WORK/info"
		echo
		sed '/^Overlay: /d' "$WORK/message"
	} | commit_as "$name" "$mail" "$date" "$tree" -p "$1"
}

# queue_apply PATCH...: applies them to `base`, without fuzz, and prints the
# resulting commit
queue_apply()
{
	local head patch

	igit read-tree base
	head=$(kgit rev-parse 'base^{commit}')
	for patch; do
		head=$(queue_apply_one "$head" "$patch")
	done
	echo "$head"
}

# _overlays_of COMMIT FILE: prints what overlay files a commit brings in, and
# refuses what the queue cannot express; FILE collects the paths of all commits
_overlays_of()
{
	local status path subject

	subject=$(kgit log -1 --format='"%s"' "$1")
	kgit diff-tree -r --no-commit-id --no-renames --name-status "$1" |
	while IFS=$'\t' read -r status path; do
		[[ $status = [AM] ]] ||
			die "$subject removes, renames or retypes $path: not possible in this queue"
		! kgit cat-file -e "base:$path" 2>/dev/null || continue
		! grep -qxF "$path" "$2" ||
			die "$subject changes $path, which an earlier commit adds: make it one commit"
		echo "$path"
		echo "$path" >>"$2"
	done
}

# _strip_one COMMIT PARENT: prints a copy of the commit which lacks the overlay
# files, and has a trailer for each that COMMIT adds
_strip_one()
{
	local overlays trailers=() path tree who

	overlays=$(_overlays_of "$1" "$WORK/overlays")
	for path in $overlays; do
		trailers+=(--trailer "Overlay: $path")
	done
	igit read-tree "$1"
	kgit diff --name-only --no-renames --diff-filter=A base "$1" |
		igit update-index --force-remove --stdin
	tree=$(igit write-tree)
	mapfile -t who < <(kgit log -1 --format='%an%n%ae%n%aD' "$1")
	kgit log -1 --format=%B "$1" | sed '/^Overlay: /d' | kgit stripspace |
		kgit interpret-trailers --no-divider --if-exists addIfDifferent \
			${trailers[@]+"${trailers[@]}"} |
		commit_as "${who[@]}" "$tree" -p "$2"
}

# queue_format COMMIT DIR: writes the commits base..COMMIT as DIR/patches/*.patch
# and DIR/patches/series, the overlay files below DIR/overlay
queue_format()
{
	local head commit

	mkdir -p "$2/patches" "$2/overlay"
	: >"$WORK/overlays"
	head=$(kgit rev-parse 'base^{commit}')
	for commit in $(kgit rev-list --reverse base.."$1"); do
		head=$(_strip_one "$commit" "$head")
	done
	queue_mails base.."$head" "$2/patches"
	[ ! -s "$WORK/overlays" ] || xargs -d '\n' git -C "$(tree_dir patched)" \
		archive "$1" <"$WORK/overlays" | tar -x -C "$2/overlay"
}

# queue_mails RANGE DIR: the commits as DIR/*.patch, their names in DIR/series
queue_mails()
{
	mkdir -p "$2"
	kgit format-patch -q -o "$2" --always -N --zero-commit --no-signature \
		--no-renames --abbrev=12 "$1"
	(cd "$2" && find . -name '*.patch' -printf '%f\n' | sort >series)
}
