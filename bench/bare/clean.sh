#!/bin/sh
# Ends all that deploy.sh and grow.sh started and removes it, on all hosts; closes the kept connections.
#   clean.sh FOLDER ROOT MARK HOST...
# MARK is in the environment of every process of the MR-cluster.
set -eu
folder=$1 root=$2 mark=$3
shift 3
for host in "$@"; do
    ssh -F "$folder/ssh_config" "$host" "
        for try in 1 2 3 4 5; do
            found=\$(grep -lzxF $mark /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3)
            [ -n \"\$found\" ] || break
            kill -9 \$found 2>/dev/null
            sleep 0.2
        done
        rm -rf $root" &
done
wait
for host in "$@"; do ssh -F "$folder/ssh_config" -O exit "$host" 2>/dev/null || :; done
