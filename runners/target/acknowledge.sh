# The warehouse has what it wants of the attempt: one line stays in the ledger for ever, small evidence stays for
# $keep_days, and what is over $big bytes goes now. Attempts acknowledged longer ago than that go as a whole. Nothing goes
# where the folder was moved: somebody may want to keep it. processes.sh stands before this.
set -e
moved=
if [ ! -e "$folder/started" ] && enter_elsewhere; then
    moved=yes
    if [ ! -d "$work" ] && [ -e ../../../host.lock ]; then work=../../..; fi
else
    make_work
    mkdir -p -- "$folder"
    cd -- "$folder"
fi
if [ -e started ] && [ ! -e rc ] && ! flock -n -s lock true; then
    echo "the attempt still runs: cancel it before its evidence is cleaned up" >&2
    exit 5
fi
returncode=-
if [ -e rc ]; then read -r returncode < rc || true; fi
# First what takes room: where these files have filled the disk, nothing else could be written.
rm -f .pgpass
for name in *; do
    if [ -z "$moved" ] && [ -f "$name" ] && [ "$(stat -c %s -- "$name")" -gt "$big" ]; then rm -f -- "$name"; fi
done
# Who moved the work directory finds no new one at its place.
if [ -d "$work" ] && ! in_ledger; then
    echo "$run $number ${returncode:--} $(date -u +%Y-%m-%dT%H:%M:%SZ)" >> "$work/ledger"
fi
[ -e ack ] || : > ack
# It sees that by itself, a minute later; its number may be another process's by now.
if [ -s witness ] && read -r process < witness && [ "/proc/$process/cwd" -ef . ]; then kill "$process" || true; fi
[ -z "$moved" ] || exit 0
oldest=$(($(date +%s) - keep_days * 86400))
stat -c '%Y %n' -- "$work"/runs/*/*/ack | while read -r when mark; do
    if [ "$when" -lt "$oldest" ]; then
        rm -rf -- "${mark%/ack}"
        rmdir -- "${mark%/*/ack}" 2> /dev/null || true
    fi
done
