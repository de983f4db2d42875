# Raw counters of a machine and, by one psql, of its server: lines 'group value ...' after '@ uptime', and before them
# a line ': group name ...' that names the values. '-' stands for what this kernel or server does not say.
# One process for the whole run: a file is read at once, and the pause is a process of its own each time only where no
# other process makes them all (telemetry.clock.sh).
# mawk, gawk, busybox and the one true awk all do. Tests have a `root` that holds recorded files of other kernels.
function line_of(file,    text) {
    text = ""
    if ((getline text < file) < 0) text = ""
    close(file)
    return text
}
function note(text) {
    if (length(text) > 8000) return
    bytes += length(text) + 1
    if (bytes <= most_bytes) print text
}
function heads(group, names) {
    if (named[group] != names) note(": " group " " names)
    named[group] = names
}
function quoted(text) {
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}
function value_or(text) { return text ~ /^[0-9]+(\.[0-9]+)?$/ ? text : "-" }

function processor(    text, part, n, i, values) {
    while ((getline text < (root "/proc/stat")) > 0) {
        n = split(text, part, " ")
        if (part[1] == "cpu") {
            values = ""
            for (i = 2; i <= 9; i++) values = values " " (i <= n ? value_or(part[i]) : "-")
            heads("cpu", "user nice system idle iowait irq softirq steal")
            note("cpu" values)
        } else if (text ~ /^(ctxt|processes|procs_running|procs_blocked) /) fact[part[1]] = value_or(part[2])
    }
    close(root "/proc/stat")
    heads("sched", "ctxt processes procs_running procs_blocked")
    note("sched " fact["ctxt"] " " fact["processes"] " " fact["procs_running"] " " fact["procs_blocked"])
}

# The values of these names in a file of lines 'name value' or 'name: value kB'.
function picked(group, file, names,    text, part, wanted, seen, n, i, values) {
    split("", seen)
    while ((getline text < file) > 0) {
        split(text, part, " ")
        sub(/:$/, "", part[1])
        seen[part[1]] = value_or(part[2])
    }
    close(file)
    n = split(names, wanted, " ")
    for (i = 1; i <= n; i++) values = values " " (wanted[i] in seen ? seen[wanted[i]] : "-")
    if (values ~ /[0-9]/) {
        heads(group, names)
        note(group values)
    }
}

function pressure(    n, kind, i, text, part, some, full) {
    n = split("cpu io memory", kind, " ")
    for (i = 1; i <= n; i++) {
        some = full = "-"
        while ((getline text < (root "/proc/pressure/" kind[i])) > 0) {
            if (!match(text, /total=[0-9]+/)) continue
            part = substr(text, RSTART + 6, RLENGTH - 6)
            if (text ~ /^some/) some = part
            if (text ~ /^full/) full = part
        }
        close(root "/proc/pressure/" kind[i])
        if (some == "-" && full == "-") continue
        heads("psi." kind[i], "some full")
        note("psi." kind[i] " " some " " full)
    }
}

function disks(    text, part, n, i, values) {
    while ((getline text < (root "/proc/diskstats")) > 0) {
        n = split(text, part, " ")
        if (!(part[3] in disk)) continue
        values = ""
        values = value_or(part[4])
        for (i = 6; i <= 8; i++) values = values " " value_or(part[i])
        for (i = 10; i <= 14; i++) values = values " " value_or(part[i])
        values = values " " (n >= 20 ? value_or(part[19]) " " value_or(part[20]) : "- -")
        heads("disk." part[3], "reads read_sectors read_ms writes write_sectors write_ms in_flight busy_ms queue_ms" \
            " flushes flush_ms")
        note("disk." part[3] " " values)
    }
    close(root "/proc/diskstats")
}

# Network cards alone: what goes over a bridge or a pair of ends goes over a card as well, or stays here.
function network(    text, part, device, got, sent, got_packets, sent_packets, lost, cards) {
    cards = got = sent = got_packets = sent_packets = lost = 0
    while ((getline text < (root "/proc/net/dev")) > 0) {
        if (!match(text, /^ *[^ :|]+:/)) continue
        device = substr(text, RSTART, RLENGTH - 1)
        sub(/^ */, "", device)
        split(substr(text, RSTART + RLENGTH), part, " ")
        if (!(device in is_card)) is_card[device] = line_of(root "/sys/class/net/" device "/device/uevent") != ""
        if (!is_card[device] && device !~ /^(eth|en)[a-z0-9]+$/) continue
        cards++
        got += part[1]; got_packets += part[2]; sent += part[9]; sent_packets += part[10]
        lost += part[3] + part[4] + part[11] + part[12]
    }
    close(root "/proc/net/dev")
    if (!cards) return
    heads("net", "rx_bytes rx_packets tx_bytes tx_packets lost")
    note(sprintf("net %.0f %.0f %.0f %.0f %.0f", got, got_packets, sent, sent_packets, lost))
}
function tcp(    text, part, name, n, i) {
    while ((getline text < (root "/proc/net/snmp")) > 0) {
        if (text !~ /^Tcp:/) continue
        n = split(text, part, " ")
        if (text ~ /RetransSegs/) for (i = 1; i <= n; i++) name[i] = part[i]
        else for (i = 1; i <= n; i++) if (name[i] == "RetransSegs") {
            heads("tcp", "retransmitted")
            note("tcp " value_or(part[i]))
        }
    }
    close(root "/proc/net/snmp")
}

# Of at most eight CPUs, spread over all: asking each of many costs more than it tells.
function clocks(    i, text, sum, cores, throttled, is_there) {
    sum = cores = throttled = is_there = 0
    for (i = 0; i < cpus; i += stride) {
        text = line_of(root "/sys/devices/system/cpu/cpu" i "/cpufreq/scaling_cur_freq")
        if (text ~ /^[0-9]+$/) { sum += text / 1000; cores++ }
        text = line_of(root "/sys/devices/system/cpu/cpu" i "/thermal_throttle/core_throttle_count")
        if (text ~ /^[0-9]+$/) { throttled += text; is_there = 1 }
    }
    if (!cores && cpus <= 16) {
        while ((getline text < (root "/proc/cpuinfo")) > 0) if (text ~ /^cpu MHz/) {
            sub(/.*: */, "", text)
            sum += text; cores++
        }
        close(root "/proc/cpuinfo")
    }
    if (!cores && !is_there) return
    heads("clock", "mhz throttled")
    note("clock " (cores ? sprintf("%.0f", sum / cores) : "-") " " (is_there ? sprintf("%.0f", throttled) : "-"))
}

# Where the quota of a control group holds its processes back: version 2 counts microseconds, version 1 nanoseconds.
function groups(    text, part, times, us) {
    if (!group_file) return
    times = us = "-"
    while ((getline text < group_file) > 0) {
        split(text, part, " ")
        if (part[1] == "nr_throttled") times = value_or(part[2])
        if (part[1] == "throttled_usec") us = value_or(part[2])
        if (part[1] == "throttled_time") us = part[2] ~ /^[0-9]+$/ ? sprintf("%.0f", part[2] / 1000) : "-"
    }
    close(group_file)
    if (times == "-") return
    heads("cgroup", "throttled throttled_us")
    note("cgroup " times " " us)
}
function find_group(process,    text, part, i, n, candidate) {
    while ((getline text < (root "/proc/" process "/cgroup")) > 0) {
        n = split(text, part, ":")
        if (n < 3 || part[3] ~ /\.\./) continue
        if (part[1] == "0") {
            candidate[1] = root "/sys/fs/cgroup" part[3] "/cpu.stat"
            candidate[2] = root "/sys/fs/cgroup/cpu.stat"
        } else if (part[2] ~ /(^|,)cpu(,|$)/) {
            candidate[3] = root "/sys/fs/cgroup/cpu" part[3] "/cpu.stat"
            candidate[4] = root "/sys/fs/cgroup/cpu,cpuacct" part[3] "/cpu.stat"
            candidate[5] = root "/sys/fs/cgroup/cpu/cpu.stat"
        }
    }
    close(root "/proc/" process "/cgroup")
    group_file = ""
    for (i = 5; i >= 1; i--) if (i in candidate && says_throttled(candidate[i])) group_file = candidate[i]
}
function says_throttled(file,    text, is_there) {
    is_there = 0
    while ((getline text < file) > 0) if (text ~ /^nr_throttled /) is_there = 1
    close(file)
    return is_there
}

# CPU time, in ticks, of this program with its pauses, of what makes them, of psql and of psql's backend.
function ticks_of(process, with_children,    text, part) {
    text = process == "" ? "" : line_of(root "/proc/" process "/stat")
    if (!sub(/^.*\) /, "", text)) return 0
    split(text, part, " ")
    return part[12] + part[13] + (with_children ? part[14] + part[15] : 0)
}
function own(    ticks) {
    ticks = ticks_of("self", 1) + ticks_of(clock, 0) + ticks_of(psql_process, 0) + (place == "here" ? ticks_of(backend, 0) : 0)
    heads("self", "ticks")
    note(sprintf("self %.0f", ticks))
}

function start_of(process,    text, part) {
    text = line_of(root "/proc/" process "/stat")
    if (!sub(/^.*\) /, "", text)) return ""
    split(text, part, " ")
    return part[1] == "Z" ? "" : part[20]
}

function use_disk(role, device) {
    if (!(device in disk)) disk[device] = 1
    note("place " role " " device)
}
# The device of a folder, by its number in /proc/diskstats; none for one that only the filesystem knows.
function device_of(path,    command, number, major, minor, text, part, device) {
    command = "stat -L -c %d -- " quoted(path) " 2> /dev/null"
    number = ""
    command | getline number
    close(command)
    if (number !~ /^[0-9]+$/) return ""
    major = int(number / 256) % 4096
    minor = number % 256 + 256 * (int(number / 1048576) % 4096)
    while ((getline text < (root "/proc/diskstats")) > 0) {
        split(text, part, " ")
        if (part[1] == major && part[2] == minor) device = part[3]
    }
    close(root "/proc/diskstats")
    return device
}
function find_disks(path,    data, wal, text, part, count) {
    split("", disk)
    if (place == "here" && path ~ /^\// && length(path) < 1000) {
        data = device_of(path)
        wal = device_of(path "/pg_wal")
    }
    if (data != "") use_disk("data", data)
    if (wal != "") use_disk("wal", wal)
    if (data != "") return
    while ((getline text < (root "/proc/diskstats")) > 0) {
        split(text, part, " ")
        if (part[3] ~ /^(loop|ram|zram|sr|fd|dm-|md|nbd)/ || part[4] + part[8] == 0 || count >= 4) continue
        if (line_of(root "/sys/block/" part[3] "/dev") == "") continue
        count++
        use_disk("all", part[3])
    }
    close(root "/proc/diskstats")
}

# psql reads what to do from here, and writes each answer whole into telemetry.now, where it is read a step later.
function open_server() {
    if (line_of("telemetry.sql") == "") return
    psql = "exec sh ./telemetry.psql.sh > /dev/null 2>> telemetry.err"
    printf "\\set at '%s'\n\\o telemetry.now\n\\i telemetry.sql\n\\o\n", at | psql
    fflush(psql)
    is_asked = step_no
}
function is_alive() {
    if (psql == "") return 0
    if (psql_process == "") psql_process = line_of("telemetry.psql")
    return psql_process ~ /^[0-9]+$/ && start_of(psql_process) != ""
}
# An answer ends with a line of its own. It is taken once; one that does not come is waited for, for some steps.
function answer(    text, n, i, lines, part, is_whole) {
    n = 0
    while ((getline text < "telemetry.now") > 0 && n < 50) {
        if (text == "end") is_whole = 1
        else lines[++n] = text
    }
    close("telemetry.now")
    if (!is_whole || lines[1] == taken) return
    taken = lines[1]
    is_asked = 0
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^(: pg|pg|wait) /) note(lines[i])
        if (lines[i] ~ /^server /) {
            split(lines[i], part, " ")
            note("server " part[2])
            backend = part[3] ~ /^[0-9]+$/ ? part[3] : ""
            if (place == "here" && backend != "") find_group(backend)
            if (folder == "") {
                text = lines[i]
                sub(/^server [^ ]* [^ ]* ?/, "", text)
                find_disks(text)
            }
        }
    }
}
function server() {
    if (step_no == 1) { open_server(); return }
    if (psql == "") return
    if (is_asked) answer()
    if (is_asked && step_no - is_asked < 5) return
    if (!is_alive()) { psql = ""; return }
    printf "\\o telemetry.now\nEXECUTE sample('%s');\n\\o\n", at | psql
    fflush(psql)
    is_asked = step_no
}

# Who opens the pipe ends the pause: the clock, or the end of the load.
function pause(    text) {
    if (clock == "") system("echo $$ > telemetry.pause; exec sleep " step_s " 7>&- 8>&- 9>&-")
    else {
        getline text < "telemetry.tick"
        close("telemetry.tick")
    }
}

function sample(    part) {
    split(line_of(root "/proc/uptime"), part, " ")
    at = part[1]
    note("@ " at)
    server()
    processor()
    picked("mem", root "/proc/meminfo", meminfo_names)
    picked("vm", root "/proc/vmstat", vmstat_names)
    pressure()
    disks()
    network()
    tcp()
    clocks()
    groups()
    own()
    fflush()
}

BEGIN {
    "date +%s.%N" | getline epoch
    close("date +%s.%N")
    sub(/\.?%?N$/, "", epoch)
    split(line_of(root "/proc/uptime"), uptime, " ")
    "getconf CLK_TCK 2> /dev/null" | getline clock_ticks
    meminfo_names = line_of("telemetry.meminfo")
    vmstat_names = line_of("telemetry.vmstat")
    while ((getline text < (root "/proc/stat")) > 0) if (text ~ /^cpu[0-9]/) cpus++
    close(root "/proc/stat")
    stride = cpus > 8 ? int(cpus / 8) : 1
    note("telemetry 1")
    note("clock_ticks " (clock_ticks ~ /^[0-9]+$/ ? clock_ticks : 100))
    note("cpus " cpus)
    note("epoch " epoch " " uptime[1])
    parent_start = start_of(parent)
    find_group("self")
    find_disks(folder)
    step_no = 1
    while (bytes < most_bytes) {
        sample()
        if (is_ending || start_of(parent) != parent_start) break
        pause()
        step_no++
        ended = line_of("telemetry.end")
        if (ended != "") {
            is_ending = 1
            note("ended " value_or(ended))
        }
    }
    if (bytes >= most_bytes) print "full"
    if (psql != "" && is_alive()) {
        close(psql)
        if (is_asked && bytes < most_bytes) answer()
    }
    print "end"
}
