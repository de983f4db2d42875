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
section username; id -un
show os_release cat /etc/os-release /usr/lib/os-release
show kernel uname -r
show architecture uname -m
show lscpu lscpu
show meminfo cat /proc/meminfo
show block_devices lsblk -b -d -P -o NAME,TYPE,SIZE,ROTA,SCHED,MODEL
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
section drop_caches
if [ -w /proc/sys/vm/drop_caches ]; then echo directly
elif sudo -n -l sh -c 'echo 3 > /proc/sys/vm/drop_caches' > /dev/null 2>&1; then echo by sudo; fi
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
