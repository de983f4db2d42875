# The warehouse has what it wants of the attempt: one line stays in the ledger for ever, small evidence stays for
# $keep_days, and what is over $big bytes goes now. Attempts acknowledged longer ago than that go as a whole.
set -e
make_work
mkdir -p -- "$folder"
cd -- "$folder"
if [ -e started ] && [ ! -e rc ] && ! flock -n -s lock true; then
    echo "the attempt still runs: cancel it before its evidence is cleaned up" >&2
    exit 5
fi
returncode=-
if [ -e rc ]; then read -r returncode < rc || true; fi
# First what takes room: where these files have filled the disk, nothing else could be written.
rm -f .pgpass
for name in *; do
    if [ -f "$name" ] && [ "$(stat -c %s -- "$name")" -gt "$big" ]; then rm -f -- "$name"; fi
done
in_ledger || echo "$run $number ${returncode:--} $(date -u +%Y-%m-%dT%H:%M:%SZ)" >> "$work/ledger"
[ -e ack ] || : > ack
oldest=$(($(date +%s) - keep_days * 86400))
stat -c '%Y %n' -- "$work"/runs/*/*/ack | while read -r when mark; do
    if [ "$when" -lt "$oldest" ]; then
        rm -rf -- "${mark%/ack}"
        rmdir -- "${mark%/*/ack}" 2> /dev/null || true
    fi
done
