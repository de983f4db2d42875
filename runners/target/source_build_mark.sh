# By its mark BenchHub knows a folder of a build that it made. Set before: digest.
is_own() {
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return 1
    { read -r mark < "$1/mark"; } 2> /dev/null && [ "$mark" = "$digest" ]
}
put_mark() { echo "$digest" > "$1/mark.new" && mv -- "$1/mark.new" "$1/mark"; }
# Remove the folder $1 if it carries the mark or has nothing in it; what is interrupted keeps its mark to the last.
wipe() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    if ! is_own "$1"; then
        [ -d "$1" ] && [ ! -L "$1" ] || return 1
        case $(ls -A -- "$1") in '' | mark.new) rm -f -- "$1/mark.new" && rmdir -- "$1" ;; *) return 1 ;; esac
        return "$?"
    fi
    for name in "$1"/* "$1"/.[!.]*; do
        [ "$name" = "$1/mark" ] || rm -rf -- "$name"
    done
    rm -rf -- "$1"
}
