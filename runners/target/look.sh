# One look at the attempt: names and values, an empty line, then err.log from $offset on, at most $limit bytes.
# The lock is read before the exit code and that before the log: what ends meanwhile never looks lost or short.
enter_work
cd -- "$folder" 2> /dev/null || true  # the work directory has no such files: all is absent
last_line() { [ ! -e "$1" ] || tail -n 1 -- "$1"; }
size() { if [ -e "$1" ]; then stat -c %s -- "$1"; else echo 0; fi; }
present() { if [ -e "$1" ]; then echo 1; else echo 0; fi; }

read -r boot < /proc/sys/kernel/random/boot_id
read -r uptime _ < /proc/uptime
printf 'boot_id=%s\nuptime=%s\nstarted=%s\n' "$boot" "$uptime" "$(present started)"
if [ -e started ]; then
    read -r boot < started || boot=
    echo "boot_id_at_start=$boot"
    if flock -n -s lock true; then echo lock=free; else echo lock=held; fi
    if [ -e rc ] && read -r returncode < rc; then echo "returncode=$returncode"; fi
    printf 'step=%s\nheartbeat=%s\n' "$(last_line step)" "$(last_line hb)"
    printf 'out_size=%s\nerr_size=%s\n' "$(size out.log)" "$(size err.log)"
fi
if [ -e ack ] || in_ledger; then echo acknowledged=1; fi
printf 'cancelled=%s\nholder=%s\n\n' "$(present cancel)" "$(last_line "$work/holder")"
[ ! -e err.log ] || tail -c +"$((offset + 1))" err.log | head -c "$limit"
