# Starts the attempt once, however often and from however many places it is asked to; answers with one word.
#
# Open files that outlive this script, and what holding them means:
#   7  end.lock   held by the wrapper alone: free again when the attempt has ended
#   8  lock       held by everything that comes of the attempt: free again when nothing of it is left
#   9  host.lock  the same for the whole host: one attempt at a time
set -e
if [ ! -c /dev/null ] || [ ! -w /dev/null ]; then
    echo "/dev/null is no device that the account can write to: make it again" >&2
    exit 3
fi
# A wrapper that lacks these ends half way, and looks as if it had been killed.
require_limit() {
    limit=$(ulimit "$1" 2> /dev/null) || return 0
    if [ "$limit" = unlimited ] || [ "$limit" -ge "$2" ]; then return 0; fi
    echo "The account may have $limit $3 (ulimit $1), and a run needs $2: raise that" >&2
    exit 3
}
require_limit -f 2048 'blocks of 512 bytes in a file'
require_limit -n 64 'files open'
for tool in flock setsid sha256sum timeout; do
    command -v "$tool" > /dev/null || {
        echo "$tool is missing: install util-linux and coreutils" >&2
        exit 3
    }
done
# A start whose answer was lost has begun it, and its folder was moved since. Only then is all of /proc read.
may_be_elsewhere() {
    [ ! -e "$folder/started" ] || return 1
    [ ! -e "$work/runs" ] || { [ -e "$work/holder" ] && [ "$(cat -- "$work/holder")" = "$run $number" ]; }
}
if may_be_elsewhere && enter_elsewhere; then echo ALREADY_STARTED; exit 0; fi
make_work
mkdir -p -- "$folder" bin
cd -- "$folder"

# Two starts of this attempt, and a start and a cancel, wait for each other here.
exec 6>> start.lock
flock -w 20 6
if [ -e started ] || in_ledger; then echo ALREADY_STARTED; exit 0; fi
if [ -e cancel ]; then
    if [ -e withdrawn ]; then echo WITHDRAWN; else echo TOMBSTONED; fi
    exit 0
fi

# A program that is gone, or lacks a library, is found out before anything has begun; one that hangs holds no lock.
try_program() {
    answer=$(timeout -k 1 10 /bin/sh -c '"$0" --version' "$1" 2>&1 < /dev/null 6>&-) && return
    echo "The program $1 does not run there ($(printf '%s\n' "$answer" | tail -n 1)): install it again" >&2
    exit 3
}
try_programs

# A second's patience: the wrapper before this one may be on its last line.
exec 9>> "$work/host.lock"
code=0
flock -w 1 9 || code=$?
case $code in
    0) ;;
    1) echo BUSY; exit 0 ;;
    *) echo "The file system of the work directory takes no locks: choose one on a local disk" >&2; exit 3 ;;
esac
os_put_back || exit 8
code=0
server_settings_back || code=$?
case $code in
    0) ;;
    75) echo BUSY; exit 0 ;;
    *) echo "$reason" >&2; exit 8 ;;
esac
echo "$run $number" > "$work/holder"

write_files
# A server that does not answer keeps no attempt away: the keeper waits for it, and says why it did not come.
for look in server_settings.sh server_mark.sh; do
    [ -e "$look" ] || continue
    code=0
    timeout -k 1 10 /bin/sh "./$look" look < /dev/null > /dev/null 2>&1 6>&- 9>&- || code=$?
    if [ "$code" = 75 ]; then rm -f .pgpass; echo HELD; exit 0; fi
done
wrapper=$work/bin/job-$wrapper_hash.sh
if [ ! -e "$wrapper" ]; then
    write_wrapper > "$wrapper.$$"
    mv -- "$wrapper.$$" "$wrapper"
fi

exec 8>> lock 7>> end.lock
flock -w 5 8
flock -w 5 7
read -r boot < /proc/sys/kernel/random/boot_id
# A disk that became full just now leaves an empty file, which would tell of a start.
(set -C; echo "$boot" > started) || { rm -f started; exit 9; }
# ksh closes higher descriptors in children unless told otherwise.
setsid /bin/sh "$wrapper" "$folder" "$deadline_s" "$grace_s" "$most_bytes" "$keep_days" 6>&- 7>&7 8>&8 9>&9 < /dev/null > /dev/null 2>&1 &
echo STARTED
