#!/bin/bash
# A host to try BenchHub on: PostgreSQL with a database `bench`, and sshd, both as the user who logs in.
# SSH_LISTEN is address:port; PGDATA and PGHOST (the folder of the socket) are PostgreSQL's own variables.
set -eu
keys=$HOME/.ssh

if [ ! -f "$keys/host_key" ]; then
    mkdir -p -m 700 "$keys"
    touch "$keys/authorized_keys"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$keys/host_key"
fi

if [ ! -d "$PGDATA" ]; then
    rm -rf "$PGDATA.making"
    initdb --encoding=UTF8 --locale=C --auth-local=peer --auth-host=reject -D "$PGDATA.making"
    echo 'CREATE DATABASE bench' | postgres --single -D "$PGDATA.making" postgres
    mv "$PGDATA.making" "$PGDATA"
fi

# Sessions see what this shell sees of PostgreSQL: its programs, and where its socket is.
cat > "$keys/sshd_config" <<END
ListenAddress $SSH_LISTEN
HostKey $keys/host_key
AuthorizedKeysFile $keys/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv PATH="$PATH" PGHOST="$PGHOST"
MaxStartups 100
MaxSessions 100
END

# The stop of a container reaches this shell alone; whichever of the two ends first takes the other with it. The shell
# waits for both, so that the database is shut down when the next start looks for it; INT does not wait for its clients.
postgres='' sshd=''
trap 'kill -INT $postgres 2> /dev/null || true; kill $sshd 2> /dev/null || true; wait' EXIT
trap 'exit 0' TERM INT
postgres -D "$PGDATA" -c listen_addresses= -c unix_socket_directories="$PGHOST" &
postgres=$!
"$(PATH=$PATH:/usr/sbin command -v sshd)" -D -e -f "$keys/sshd_config" &
sshd=$!
wait -n
