# Before cancel.sh, where the deadline of $deadline_s seconds is over and the attempt's own guard has not ended it: it was
# killed, or stopped. What was stopped goes on. A command that has ended is left to its wrapper, which may sum up for long.
if [ -e "$folder/started" ]; then cd -- "$folder"; else enter_elsewhere; fi || exit 0
identify
kill -s CONT $(of_wrapper) 2> /dev/null || true
if [ -e rc ]; then exit 0; fi
if is_process "$wrapper" "$wrapper_start" && ! is_process "$command" "$command_start"; then exit 0; fi

# Comes first, as it is what the run fails by. A full disk keeps nothing from being ended.
note_overdue() {
    [ ! -e overdue ] || return 0
    if [ -e ended.new ]; then echo "$deadline_s" 1<> ended.new && mv ended.new overdue; else echo "$deadline_s" > overdue; fi
}
{ note_overdue && true > unguarded; } 2> /dev/null || true
