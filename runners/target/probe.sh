# Prints what is to be known about the machine: sections that begin with a record separator and a name.
section() { printf '\036%s\n' "$1"; }
show() {
    section "$1"
    shift
    "$@" 2> /dev/null
}
values_of() {
    for file; do
        if [ -r "$file" ] && read -r value < "$file"; then echo "$file=$value"; fi
    done
}
# Lines such as '1023 core_id 511': a host of 1,024 CPUs is read by a handful of processes, in some 200 KB.
# By grep: dash reads byte by byte, and lists of CPUs are given only to whoever reads them at once.
places_of_cpus() {
    cd /sys/devices/system/cpu || return
    for name in drawer_id book_id physical_package_id die_id cluster_id core_id; do
        grep -s . /dev/null cpu[0-9]*/topology/$name
    done
    grep -s . /dev/null cpu[0-9]*/topology/thread_siblings_list ||
        grep -s . /dev/null cpu[0-9]*/topology/core_cpus_list ||
        grep -s . /dev/null cpu[0-9]*/topology/thread_siblings
    grep -s . /dev/null cpu[0-9]*/topology/package_cpus_list ||
        grep -s . /dev/null cpu[0-9]*/topology/core_siblings_list
    grep -s . /dev/null cpu[0-9]*/cpu_capacity cpu[0-9]*/regs/identification/midr_el1
}
# Lines 'name|number|kind|title|parents|sectors|rotational|scheduler|model', by builtins alone.
tree_of_disks() {
    for folder in /sys/block/*; do
        [ -d "$folder" ] || continue
        parents=
        for parent in "$folder"/slaves/*; do
            [ -e "$parent" ] && parents="$parents ${parent##*/}"
        done
        printf '%.64s|' "${folder##*/}"
        print_line "$folder/dev"
        print_line "$folder/dm/uuid" "$folder/md/level"
        print_line "$folder/dm/name"
        printf '%.2048s|' "$parents"
        print_line "$folder/size"
        print_line "$folder/queue/rotational"
        print_line "$folder/queue/scheduler"
        { read -r model < "$folder/device/model" && printf '%.256s' "$model"; } 2> /dev/null
        echo
        for part in "$folder"/*/partition; do
            [ -e "$part" ] || continue
            part=${part%/partition}
            printf '%.64s|' "${part##*/}"
            print_line "$part/dev"
            printf '||%.64s||||\n' "${folder##*/}"
        done
    done
    for folder in /sys/fs/btrfs/*/devices; do
        [ -d "$folder" ] || continue
        pool=${folder%/devices}
        printf '%.64s||btrfs||' "${pool##*/}"
        for parent in "$folder"/*; do printf '%.64s ' "${parent##*/}"; done
        echo '||||'
    done
}
# Prints the first line of the first of these files that can be read, and what ends the field.
print_line() {
    line=
    for file; do
        if { read -r line < "$file"; } 2> /dev/null; then break; fi
    done
    case $line in *'|'*) line= ;; esac
    printf '%.256s|' "$line"
}
# Where the kernel says no more of a CPU, its number, socket and core; else only what the processors are called.
describe_cpus() {
    names='vendor_id|vendor|model name|cpu|cpu model|uarch|CPU implementer|CPU part|# processors|n?cpus active|machine'
    if [ -d /sys/devices/system/cpu/cpu0/topology ]; then
        grep -i -E "^($names)[[:space:]]*:|^processor [0-9]+:" /proc/cpuinfo | cut -c 1-160 | sort -u | head -n 64
    else
        names="$names|processor|physical id|package|core id|core|book id|drawer id|cpu cores"
        grep -i -E "^($names)[[:space:]]*:|^processor [0-9]+:" /proc/cpuinfo | cut -c 1-160 | head -n 32768
    fi
}
# The folders of the account's control group in this hierarchy and of those around it, from the inside out. A container
# sees its own as the root; the path is then of outside, and leads to no other folder.
groups_of() {
    path=$(sed -n "s/$1//p" /proc/self/cgroup | head -n 1 | cut -c 1-4096)
    case $path/ in */../*) path= ;; /*) ;; *) path= ;; esac
    path=${path%/}
    while [ -n "$path" ]; do
        printf '%s\n' "$2$path"
        path=${path%/*}
    done
    printf '%s\n' "$2"
}
version_1='[0-9]*:\([^:]*,\)\{0,1\}'
# Microseconds of CPU in a period of so many, or 'max': of a container, which sees its own control group as the root.
quota_of_cpus() {
    cat /sys/fs/cgroup/cpu.max && return
    for folder in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
        quota=$(cat "$folder/cpu.cfs_quota_us") && period=$(cat "$folder/cpu.cfs_period_us") || continue
        echo "$quota $period"
        return
    done
}
# The same for each group around the account: the narrowest of them holds.
quotas_of_groups() {
    groups_of '^0::' /sys/fs/cgroup | while IFS= read -r folder; do cat "$folder/cpu.max"; done
    for mount in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
        groups_of "^${version_1}cpu\(,[^:]*\)\{0,1\}:" "$mount"
    done | while IFS= read -r folder; do
        quota=$(cat "$folder/cpu.cfs_quota_us") && period=$(cat "$folder/cpu.cfs_period_us") && echo "$quota $period"
    done
}
# Bytes, or 'max', for each group: the narrowest of them holds. Above memory.high a group is slowed down until it has
# given pages back. By version 1 a group tells of those around it as well, which a container does not see.
limit_of_memory() {
    groups_of '^0::' /sys/fs/cgroup | while IFS= read -r folder; do cat "$folder/memory.max" "$folder/memory.high"; done
    groups_of "^${version_1}memory\(,[^:]*\)\{0,1\}:" /sys/fs/cgroup/memory | while IFS= read -r folder; do
        cat "$folder/memory.limit_in_bytes"
        sed -n 's/^hierarchical_memory_limit //p' "$folder/memory.stat"
    done
}
# Lines 'number database' for the first servers that let the account in by its own name: no password is sent.
databases_of_servers() {
    unset $libpq_variables
    export PGPASSFILE=/dev/null PGCONNECT_TIMEOUT=2 PGAPPNAME=benchhub-probe
    for program in "$(command -v psql)" /usr/lib/postgresql/*/bin/psql /usr/pgsql-*/bin/psql /usr/local/pgsql*/bin/psql; do
        if [ -x "$program" ]; then break; fi
    done
    number=0
    for socket in $sockets; do
        number=$((number + 1))
        [ "$number" -le 8 ] || break
        timeout -k 1 3 "$program" -X -q -A -t -w -h "${socket%/.s.PGSQL.*}" -p "${socket##*.}" -d postgres -c \
            'SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1 LIMIT 200' < /dev/null |
            head -c 16384 | sed "s/^/$number /"
    done
}
section username; id -un
section os_release
for file in /etc/os-release /usr/lib/os-release; do
    cat "$file" 2> /dev/null && break
done
section os_release_line
for file in /etc/system-release /etc/redhat-release /etc/SuSE-release /etc/debian_version; do
    if [ -r "$file" ] && read -r line < "$file"; then
        echo "$line"
        break
    fi
done
show kernel uname -r
show architecture uname -m
show lscpu lscpu
show lscpu_json lscpu -J
show cpu_lists values_of /sys/devices/system/cpu/online /sys/devices/system/cpu/present /sys/devices/cpu_core/cpus \
    /sys/devices/cpu_atom/cpus /sys/devices/cpu_lowpower/cpus /sys/devices/system/node/online \
    /sys/devices/system/node/has_cpu
if [ -e /sys/firmware/acpi/tables/PPTT ]; then echo /sys/firmware/acpi/tables/PPTT=; fi
section topology
(places_of_cpus) 2> /dev/null | sed 's,^cpu,,;s,/.*/, ,;s,/, ,;s,:, ,' | cut -c 1-160 | head -n 131072
show cpuinfo describe_cpus
show cpus_allowed grep Cpus_allowed_list /proc/self/status
show cpu_quota quota_of_cpus
show group_quotas quotas_of_groups
show meminfo cat /proc/meminfo
show memory_limit limit_of_memory
# Where groups cannot be looked into, nobody knows whether one has a limit: it may hold all the same.
show control_groups ls -d /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/cpu /sys/fs/cgroup/memory
show block_devices lsblk -b -d -P -o NAME,TYPE,SIZE,ROTA,SCHED,MODEL
section block_tree; tree_of_disks 2> /dev/null | head -n 8192
section mount_numbers; cut -d ' ' -f 3,5 /proc/self/mountinfo 2> /dev/null
# As links are followed, the names are the kernel's own.
show zfs_pools zpool list -v -H -P -L
section memory_modules
for folder in /sys/devices/system/edac/mc/mc*/dimm* /sys/devices/system/edac/mc/mc*/rank*; do
    { read -r size < "$folder/size" && read -r kind < "$folder/dimm_mem_type" && echo "$size $kind"; } 2> /dev/null
done
show mounts cat /proc/self/mounts
show filesystem_sizes df -P -k
section virtualization
systemd-detect-virt 2> /dev/null
cat /run/systemd/container 2> /dev/null && echo
if [ -e /.dockerenv ] || [ -e /run/.containerenv ]; then echo container; fi
if grep -q ' hypervisor' /proc/cpuinfo 2> /dev/null; then echo hypervisor; fi
case $(uname -r) in *[Mm]icrosoft*) echo wsl ;; esac
show dmi values_of /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
show transparent_huge_pages values_of \
    /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag
section cpu_governors; cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2> /dev/null | sort -u
show clock_source values_of /sys/devices/system/clocksource/clocksource0/current_clocksource
show kernel_command_line cat /proc/cmdline
section sysctls
for name in $sysctls; do
    # By cat: dash reads byte by byte, and these files give a number only to whoever reads it at once.
    value=$(cat "/proc/sys/$(echo "$name" | tr . /)" 2> /dev/null) && echo "$name=$value"
done
show boot_id cat /proc/sys/kernel/random/boot_id
show uptime cat /proc/uptime
# Of a server that runs here: its directory of sockets and its port.
section server_sockets
sockets=$(grep -o -E '/[^ ]*/\.s\.PGSQL\.[0-9]+$' /proc/net/unix 2> /dev/null | sort -u | head -n 100)
printf '%s\n' "$sockets"
section server_databases
(databases_of_servers) 2> /dev/null
section drop_caches
if [ -w /proc/sys/vm/drop_caches ]; then echo directly
elif sudo -n -l sh -c 'echo 3 > /proc/sys/vm/drop_caches' > /dev/null 2>&1; then echo by sudo; fi
section os_settings
if [ -e "$os_helper" ]; then $os_command version 2> /dev/null; fi
section os_settings_absent
if [ -e "$os_helper" ]; then $os_command absent 2> /dev/null | head -n 100; fi
section tools
for name in $tools; do
    path=$(command -v "$name") && echo "$name=$path"
done
section bin_directories
for name in $(echo "$PATH" | tr : ' ') /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql*/bin $prefixes; do
    for program in "$name"/postgres "$name"/pgbench "$name"/bin/postgres "$name"/bin/pgbench; do
        # Links are followed; those to a wrapper of another name, such as Debian's, are no build.
        path=$(readlink -f -- "$program") && [ -x "$path" ] || continue
        case $path in */postgres | */pgbench) echo "${path%/*}" ;; esac
    done
done
