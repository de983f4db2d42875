# Between runs: put back what is left, and print why it could not be, or UNDER_WAY while somebody is at it; nothing where
# nothing is left.
[ ! -e "$work" ] || enter_work || exit 1
code=0
server_settings_back || code=$?
case $code in 0) ;; 75) echo UNDER_WAY ;; *) echo "$reason" ;; esac
