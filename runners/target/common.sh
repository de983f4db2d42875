# The work directory and the attempt's folder in it. Relative paths are relative to the home directory.
# Set before: work, run, number. Only what writes there makes the work directory: who moved it may want to move it back,
# and would move it into a new one.
set -u
umask 077
# What an account sets for its people would change the answers of its programs.
unset QUOTING_STYLE POSIXLY_CORRECT
export LC_ALL=C
# An absolute one needs no home directory, which may be away.
case $work in /*) cd / ;; *) cd -- "$HOME" && work=$(pwd)/$work || exit 1 ;; esac
folder=$work/runs/$run/$number
make_work() {
    mkdir -p -- "$work" && enter_work
}
enter_work() {
    cd -- "$work" && work=$(pwd) && folder=$work/runs/$run/$number
}
in_ledger() {
    [ -e "$work/ledger" ] && case $(cat -- "$work/ledger") in *"$run $number "*) true ;; *) false ;; esac
}
