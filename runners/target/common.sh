# The work directory and the attempt's folder in it. Relative paths are relative to the home directory.
# Set before: work, run, number.
set -u
umask 077
cd -- "$HOME" || exit 1
enter_work() {
    mkdir -p -- "$work" && cd -- "$work" && work=$(pwd) && folder=$work/runs/$run/$number
}
in_ledger() {
    [ -e "$work/ledger" ] && case $(cat -- "$work/ledger") in *"$run $number "*) true ;; *) false ;; esac
}
