# BenchHub's helper for settings of the operating system. It lets an account that may not change them have the ones in
# the list below changed to the values there while a run of its goes on, and puts back what was there before: when the
# run ends, when all that holds its standard input has been killed, or at a deadline.
#
#   hold VERSION DEVICE SECONDS NAME=VALUE...   DEVICE is major:minor of the data's block device, or -
#   restore VERSION                             puts back what a helper that was killed could not
#   version
#   absent                                      names the settings below that this kernel does not have
#
# Everything that it goes by is in a folder of root's own, which a reboot empties as it resets the settings.
set -u
set -f
unset IFS
umask 022
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
newline='
'

exec 3>&1
refuse() {
    echo "refused $1" >&3
    exit 1
}

# By head: dash reads byte by byte, and these files give a number only to whoever reads it at once.
read_value() {
    text=$(head -c 512 -- "$1" 2> /dev/null) || return 1
    text=${text%%"$newline"*}
    case $text in *'['*']'*) text=${text#*'['} text=${text%%']'*} ;; esac
    echo "$text"
}

# A builtin alone: where memory may not be overcommitted no further process may start.
write_value() { { echo "$2" > "$1"; } 2> /dev/null; }

find_setting() {
    while read -r name file range twin; do
        if [ "$name" = "$1" ]; then return 0; fi
    done << END
$settings
END
    return 1
}

is_in_range() {
    case $2 in
        *..*)
            case $1 in '' | *[!0-9]* | 0?* | ????????????????*) return 1 ;; esac
            [ "$1" -ge "${2%..*}" ] && [ "$1" -le "${2#*..}" ]
            ;;
        *)
            case $1 in '' | *'|'*) return 1 ;; esac
            case "|$2|" in *"|$1|"*) ;; *) return 1 ;; esac
            ;;
    esac
}

# What is set aside in huge pages is taken from everybody: a quarter of the memory stays. Of what may be committed half.
is_within_memory() {
    case $1 in vm.nr_hugepages | vm.overcommit_kbytes) ;; *) return 0 ;; esac
    awk -v name="$1" -v value="$2" '/^MemTotal:/ { total = $2 } /^Hugepagesize:/ { size = $2 }
        END { exit !(name == "vm.nr_hugepages" ? value * size <= total * 3 / 4 : value >= total / 2) }' \
        "$root/proc/meminfo"
}

# The folder of the queue that serves block device $1; a partition has that of its disk.
queue_of() {
    case $1 in *[!0-9:]* | :* | *: | *:*:* | ????????????????*) return 1 ;; esac
    link=$root/sys/dev/block/$1
    if [ -e "$link/partition" ]; then link=$link/..; fi
    [ -d "$link/queue" ] && readlink -f -- "$link/queue"
}

# The files that there are of a setting: commas separate its patterns.
files_of() {
    set +f
    for path in $(echo "$1" | tr , ' '); do
        if [ -e "$path" ]; then echo "$path"; fi
    done
}

# Set current to the value in all the files; mixed where they differ.
read_setting() {
    current=
    for path in $files; do
        read=$(read_value "$path") && [ -n "$read" ] || return 1
        case $current in '' | "$read") current=$read ;; *) current=mixed ;; esac
    done
    [ -n "$current" ]
}

write_setting() {
    for path in $files; do write_value "$path" "$value" || return 1; done
}

# Set files, range and twin of setting NAME=VALUE, or refuse it.
check() {
    find_setting "${1%%=*}" && case $1 in *=*) ;; *) false ;; esac || refuse 'the helper does not set this name'
    value=${1#*=}
    is_in_range "$value" "$range" || refuse "$name takes $range"
    is_within_memory "$name" "$value" || refuse "$name would leave too little memory"
    case $file in
        DEVICE/*)
            queue=$(queue_of "$device") || refuse "$name: the data do not lie on a block device with a queue"
            file=$queue/${file#DEVICE/}
            ;;
    esac
    files=$(files_of "$file")
    read_setting || refuse "$name: this kernel does not have it"
}

# Of two settings of which the kernel heeds one, the other is 0, and only the one that it heeds can be written back.
original() {
    if [ "$twin" != - ] && [ "$current" = 0 ]; then
        other=$(read_value "$twin") && [ -n "$other" ] || refuse "${twin##*/} cannot be read"
        if [ "$other" != 0 ] || [ "${file%bytes}" != "$file" ]; then
            echo "$twin $other"
            return
        fi
    fi
    for path in $files; do echo "$path $(read_value "$path")"; done
}

# All is written before anything is read back, as reading takes a process.
put_back() {
    [ -e "$folder/before" ] || return 0
    while read -r file value; do
        [ ! -e "$file" ] || write_value "$file" "$value"
    done < "$folder/before"
    left=
    while read -r file value; do
        [ ! -e "$file" ] || [ "$(read_value "$file")" = "$value" ] || left="$left ${file##*/}"
    done < "$folder/before"
    if [ -n "$left" ]; then
        echo "left$left"
        return 1
    fi
    rm -f -- "$folder/before"
}

tell_values() {
    word=$1
    shift
    for setting; do
        check "$setting"
        echo "$word $name $current"
    done
}

apply() {
    for setting; do
        check "$setting"
        write_setting || { echo "refused $name: the kernel does not take $value"; return 1; }
        read_setting
        [ "$current" = "$value" ] || { echo "refused $name is $current after $value was written"; return 1; }
        echo "applied $name $current"
    done
}

take_turn() {
    mkdir -p -m 755 -- "$folder" && exec 9>> "$folder/lock" && flock -w "$1" 9 ||
        refuse 'another run on this host has settings changed'
}

hold() {
    device=$1 seconds=$2
    shift 2
    is_in_range "$seconds" 1..5000000 || refuse 'the deadline is no number of seconds'
    take_turn 10
    put_back || refuse 'what an earlier run changed cannot be put back'
    tell_values before "$@"
    for setting; do
        check "$setting"
        original
    done > "$folder/before.new"
    # Whatever ends it from here on puts back: also a shell that gives up because no further process may start.
    trap put_back EXIT
    # A handler, not '': an ignored signal would be ignored by what it waits with, too.
    trap : TERM INT HUP PIPE
    mv -- "$folder/before.new" "$folder/before"
    apply "$@" || exit 1
    echo held
    timeout "$seconds" cat > /dev/null || echo overdue
    tell_values end "$@"
    put_back && tell_values after "$@"
}

absent_settings() {
    while read -r name file _; do
        case $file in
            DEVICE/*) ;;
            *) [ -n "$(files_of "$file")" ] || echo "$name" ;;
        esac
    done << END
$settings
END
}

case ${1-} in
    hold | restore) [ "${2-}" = "$version" ] || refuse "the helper on the host has version $version" ;;
    version) echo "$version"; exit 0 ;;
    absent) absent_settings; exit 0 ;;
    *) refuse 'the helper knows hold, restore, version and absent' ;;
esac
if [ "$1" = hold ]; then
    [ $# -ge 5 ] || refuse 'the helper was told no setting'
    shift 2
    hold "$@"
else
    take_turn 12
    put_back
fi
