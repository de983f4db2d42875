# A visit to a build: $purpose is collect (the end of its log, what it was built of) or remove. Prints sections that begin
# with a record separator and a name. Set before: work, run, number, digest, purpose, most (bytes of the log), and the functions
# of source_build_mark.sh.
make_work || exit 1
home=$work/builds/$digest
section() { printf '\036%s\n' "$1"; }
refuse() { section refused; echo "$1"; exit 0; }
if [ "$purpose" = remove ]; then
    exec 9>> "$work/host.lock"
    flock -w 1 9 || refuse BUSY
    # In one move it is no build any more; what a removal leaves half way goes at the next.
    if is_own "$home"; then wipe "$home.gone" && mv -- "$home" "$home.gone"; fi
    for place in "$home" "$home.new" "$home.gone"; do
        wipe "$place" || refuse "$place does not carry the mark of this build: it is somebody else's. Nothing was touched."
    done
fi
section home; echo "$home"
[ "$purpose" = collect ] || exit 0
if [ -r "$home/source" ]; then section source; head -c 4000 "$home/source"; fi
section errors; tail -c 2000 "$folder/err.log" 2> /dev/null
if [ -e "$folder/overdue" ]; then section overdue; echo yes; fi
if [ -e "$folder/overflow" ]; then section overflow; echo yes; fi
[ -e "$folder/out.log" ] || exit 0
size=$(stat -c %s -- "$folder/out.log")
section log_bytes; echo "$size"
section log_sha256; sha256sum < "$folder/out.log"
section log
if [ "$size" -le "$most" ]; then
    cat "$folder/out.log"
else
    head -c "$((most / 2))" "$folder/out.log"
    printf '\n... %s bytes of the log are left out here ...\n' "$((size - most))"
    tail -c "$((most / 2))" "$folder/out.log"
fi
