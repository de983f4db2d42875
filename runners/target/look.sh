# One look at the attempt: names and values, an empty line, then what is new in err.log and out.log: from
# $err_offset and $out_offset on. Of more than $limit bytes only the last ones; a log that got shorter, from its start.
# The lock is read before the exit code and that before the log: what ends meanwhile never looks lost or short.
# What cannot be read is not gone: that says nothing of the attempt, and fails. What was moved is read where it is now.
is_missing() {
    answer=$(ls -d -- "$1" 2>&1) && return 1
    case $answer in *': No such file or directory' | *': Not a directory') return ;; esac
    echo "its folder cannot be read: $answer" >&2
    exit 4
}
# Where the folder is missing, all is absent: /proc has no such files.
if [ -d "$folder" ]; then cd -- "$folder" || exit 4; else is_missing "$folder" || true; cd /proc || exit 4; fi
hidden=
if [ ! -e started ]; then
    is_missing started || true
    if enter_elsewhere; then hidden=yes; fi
fi
first_line() { [ ! -e "$1" ] || head -n 1 -- "$1"; }
last_line() { [ ! -e "$1" ] || tail -n 1 -- "$1"; }
size() { if [ -e "$1" ]; then stat -c %s -- "$1"; else echo 0; fi; }
# Where to read a log of $1 bytes from that was read up to $2.
begin() {
    if [ "$2" -gt "$1" ]; then set -- "$1" 0; fi
    if [ $(($1 - $2)) -gt "$limit" ]; then echo $(($1 - limit)); else echo "$2"; fi
}
present() { if [ -e "$1" ]; then echo 1; else echo 0; fi; }

read -r boot < /proc/sys/kernel/random/boot_id
read -r uptime _ < /proc/uptime
printf 'boot_id=%s\nuptime=%s\nstarted=%s\n' "$boot" "$uptime" "$(present started)"
if [ -n "$hidden" ]; then echo hidden=1; fi
if [ -e started ]; then
    read -r boot < started || boot=
    echo "boot_id_at_start=$boot"
    if flock -n -s lock true; then lock=free; else lock=held; fi
    echo "lock=$lock"
    if [ -e rc ] && read -r returncode < rc; then
        echo "returncode=$returncode"
    elif [ "$lock" = free ] && ! { true > look.new && rm -f look.new; } 2> /dev/null; then
        echo unwritable=1
    fi
    printf 'step=%s\nbegin=%s\n' "$(last_line step)" "$(first_line hb)"
fi
if [ -e ack ] || in_ledger; then echo acknowledged=1; fi
err_size=$(size err.log) out_size=$(size out.log)
err_from=$(begin "$err_size" "$err_offset") out_from=$(begin "$out_size" "$out_offset")
printf 'err_size=%s\nerr_from=%s\nout_size=%s\nout_from=%s\n' "$err_size" "$err_from" "$out_size" "$out_from"
printf 'cancelled=%s\nholder=%s\n\n' "$(present cancel)" "$(last_line "$work/holder")"
new() { [ "$2" -eq "$3" ] || tail -c +"$(($2 + 1))" -- "$1" | head -c $(($3 - $2)); }
new err.log "$err_from" "$err_size"
new out.log "$out_from" "$out_size"
