#!/bin/sh
# fetch.sh URL REF COMMIT: checks out the commit, or else the head of the ref (of the default branch if the ref
# is empty), into the working directory.
# Exit codes: 10 no such ref; 11 no such commit; 12 the repository cannot be reached; 13 a submodule failed.
set -eu
url=$1 ref=$2 commit=$3
git init --quiet --template= .
git remote add origin "$url"

full=
found=$(git ls-remote origin) || exit 12
while read -r _ name; do
  case $name in
    "$ref" | "refs/heads/$ref" | "refs/tags/$ref") [ "${full#refs/heads/}" = "$ref" ] || full=$name ;;
  esac
  if [ -z "$ref" ] && [ "$name" = HEAD ]; then full=HEAD; fi
done <<END
$found
END
if [ -z "$full" ] && [ -z "$commit" ]; then exit 10; fi

fetch() { git fetch --quiet --no-tags "$@"; }
if [ -n "$commit" ]; then
  # Not every server serves a commit by its hash; then it must be near the head of its ref.
  fetch --depth 1 origin "$commit" || { [ -n "$full" ] && fetch --depth 1000 origin "$full"; } || exit 11
  git cat-file -e "$commit^{commit}" 2>/dev/null || exit 11
  git checkout --quiet --detach "$commit"
else
  fetch --depth 1 origin "$full" || exit 12
  git checkout --quiet --detach FETCH_HEAD
fi
if [ -e .gitmodules ]; then
  git submodule update --init --recursive --depth 1 --quiet || exit 13
fi
git log -1 --format='%H%x00%an%x00%B' >"$HOME/commit"
# The entries of the top directory, and all directories: what has changed since an earlier build.
{ git ls-tree -z HEAD && git ls-tree -r -d -z HEAD; } >"$HOME/tree"
