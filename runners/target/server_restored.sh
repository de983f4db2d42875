# Between runs: put back what is left, and print why it could not be; nothing where nothing is left, or it is under way.
enter_work || exit 1
code=0
server_settings_back || code=$?
case $code in 0 | 75) ;; *) echo "$reason" ;; esac
