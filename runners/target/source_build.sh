# Builds PostgreSQL as one attempt, in the folder of the attempt. Nothing outside the work directory is written:
#
#   builds/DIGEST       the programs; there only when they are whole
#   builds/DIGEST.new   source and half a build
#
# Each has the digest in its file `mark`; nothing without it is removed. Set before: digest, kind, place, revision, jobs,
# the functions of source_build_mark.sh, and run_configure, which runs ./configure with the options and the words that it
# is given. The log is standard output. Standard error gets one sentence, which says why there is no build.
set -u
umask 077
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR CC CFLAGS CPPFLAGS LDFLAGS COPT LIBS CONFIG_SITE
LC_ALL=C GIT_TERMINAL_PROMPT=0
export LC_ALL GIT_TERMINAL_PROMPT
builds=$(cd ../../.. && pwd)/builds
home=$builds/$digest new=$builds/$digest.new

step() {
    read -r uptime _ < /proc/uptime
    echo "$1 $uptime" >> step
    echo "== $1"
}
fail() { echo "$1" >&2; exit 90; }
clear_folder() {
    wipe "$1" || fail "$1 does not carry the mark of this build: it is somebody else's. Nothing was touched."
}
# The programs in $1 run, and say that they are one build, of this digest.
is_whole() {
    version=$("$1/bin/postgres" --version 2>&1) && config=$("$1/bin/pg_config" --version 2>&1) || return 1
    [ "${version##*(PostgreSQL) }" = "${config#PostgreSQL }" ] || return 1
    for name in initdb pg_ctl psql pgbench; do [ -x "$1/bin/$name" ] || return 1; done
    case $("$1/bin/pg_config" --configure) in *"$digest"*) ;; *) return 1 ;; esac
}
need() {
    missing=
    for name; do command -v "$name" > /dev/null 2>&1 || missing="$missing $name"; done
    [ -z "$missing" ] || fail "The host lacks$missing: install the packages of these names there, then build again."
}
last_words() { grep -a -E "$1" out.log | tail -n 1 | cut -c 1-400; }

# Fetch $1 into the file $2, of at most 256 MiB.
fetch() {
    echo "$1"
    (ulimit -f 524288; exec curl -f -sS -L --proto "=${1%%:*}" --connect-timeout 20 --max-time 1800 -o "$2" -- "$1") 2>&1
    code=$?
    case $code in
        0) ;;
        22 | 37 | 78) fail "There is no $1: check the version." ;;
        *)
            fail "The host could not fetch $1 (curl ended with $code): let it reach that server, or put the tarball on \
the host and give its path."
            ;;
    esac
}
check_sum() {
    sha256=$(sha256sum < "$1" | cut -c 1-64)
    [ "$sha256" = "$2" ] || fail "The tarball's SHA-256 is $sha256, and not $2: nothing of it was used. Ask whoever \
gave it to you which is right."
}
unpack() {
    mkdir "$new/unpacked" && tar --no-same-owner -C "$new/unpacked" -xf "$1" 2>&1 ||
        fail "The tarball cannot be unpacked: give a .tar.gz or .tar.bz2 whose packer is installed on the host."
    set -- "$new"/unpacked/*/configure
    [ -f "$1" ] || fail "The tarball has no configure in its first folder: it is no source of PostgreSQL."
    source=${1%/configure}
}
source_release() {
    need curl tar gzip
    url=$place/v$revision/postgresql-$revision.tar.gz
    fetch "$url.sha256" "$new/tarball.sha256"
    fetch "$url" "$new/tarball"
    read -r expected _ < "$new/tarball.sha256" || fail "$url.sha256 is empty: try again later."
    check_sum "$new/tarball" "$expected"
    unpack "$new/tarball"
}
source_tarball() {
    need tar
    [ -f "$place" ] && [ -r "$place" ] || fail "There is no file $place on the host that its account can read."
    cp -- "$place" "$new/tarball" 2>&1 || fail "$place cannot be copied to $new: see the log."
    check_sum "$new/tarball" "$revision"
    unpack "$new/tarball"
}
source_git() {
    need git
    source=$new/unpacked
    git init -q "$source" 2>&1 || fail "git cannot begin in $source: see the log."
    case $revision in
        *[!0-9a-f]*) is_commit=no ;;
        *) if [ "${#revision}" = 40 ]; then is_commit=yes; else is_commit=no; fi ;;
    esac
    if [ "$is_commit" = yes ]; then
        # Not every server hands out a single commit; then all of the history is fetched.
        git_fetch --depth 1 "$place" "$revision" || git_fetch "$place" '+refs/*:refs/fetched/*' || git_failed
        commit=$(git_there rev-parse --verify -q "$revision^{commit}") || git_failed
    else
        git_fetch --depth 1 "$place" "refs/tags/$revision" || git_failed
        commit=$(git_there rev-parse --verify -q 'FETCH_HEAD^{commit}') || git_failed
    fi
    git_there checkout -q --detach "$commit" 2>&1 || fail "git cannot check out $commit: see the log."
    [ -f "$source/configure" ] || fail "Commit $commit has no configure: it is no source of PostgreSQL."
}
git_there() { git -C "$source" -c protocol.allow=never -c "protocol.${place%%:*}.allow=always" "$@"; }
git_fetch() { git_there fetch -q "$@" 2>&1; }
git_failed() {
    case $(last_words '^(fatal|error):') in
        *"unable to access"* | *"Could not resolve"* | *"not read from remote"* | *"does not appear to be"*)
            fail "The host could not fetch from $place: check the URL, and that the host may reach it." ;;
    esac
    fail "There is no $revision at $place: give a tag or a whole commit that is there."
}

# What tarballs before 17 have ready, git and later ones have not.
need_parsers() { [ -f "$source/src/backend/parser/gram.c" ] || need bison flex perl; }
run_make() { make -C "$source$1" -j "$jobs" $2 < /dev/null 2>&1 || make_failed; }
make_failed() {
    fail "make failed: $(last_words '(error:|Error [0-9]|No space left|Killed)'). The log has all that it printed."
}
build() {
    command -v cc > /dev/null 2>&1 || need gcc
    need make
    need_parsers
    [ "$jobs" -gt 0 ] || jobs=$(nproc)
    step configure
    if ! (cd -- "$source" && run_configure "--prefix=$home") < /dev/null 2>&1; then
        tail -n 200 "$source/config.log" 2> /dev/null
        words=$(last_words '^configure: (error|WARNING): ')
        fail "configure failed: ${words#configure: error: }."
    fi
    step make
    run_make "" all
    [ ! -f "$source/contrib/Makefile" ] || run_make /contrib all
    step install
    run_make "" "DESTDIR=$new/tree install"
    [ ! -f "$source/contrib/Makefile" ] || run_make /contrib "DESTDIR=$new/tree install"
}
keep() {
    step check
    is_whole "$new/tree$home" || fail "The programs that were built do not run, or do not agree about their version: see \
the log."
    {
        printf 'commit=%s\nsha256=%s\n' "${commit-}" "${sha256-}"
        echo "compiler=$("$new/tree$home/bin/pg_config" --cc) $(cc --version 2> /dev/null | head -n 1)"
    } > "$new/tree$home/source"
    put_mark "$new/tree$home" || fail "The mark cannot be written: see the log."
    sync
    mv -- "$new/tree$home" "$home" || fail "The build cannot be put in $home: see the log."
}
is_leftover() { [ "${1-}" = leftover ]; }

if is_leftover "$@"; then
    wipe "$new"
    exit
fi
# What prints without end fills no disk: no file may have more than 2 GiB.
ulimit -f 4194304
case $home in
    *[!A-Za-z0-9._/+-]*)
        fail "PostgreSQL cannot be built in $builds: enter a work directory of letters, digits, dots and hyphens." ;;
esac
mkdir -p -- "$builds" || fail "The folder $builds cannot be made: look at its disk and its owner."
if is_own "$home" && is_whole "$home"; then
    echo "It was built before: $home is used again."
    exit 0
fi
clear_folder "$home"
clear_folder "$new"
mkdir -- "$new" && put_mark "$new" || fail "The folder $new cannot be made: look at its disk and its owner."
trap 'exit 143' TERM INT HUP
# A second signal would end the removal half way.
trap 'trap "" TERM INT HUP; wipe "$new"' EXIT
step fetch
"source_$kind"
build
keep
