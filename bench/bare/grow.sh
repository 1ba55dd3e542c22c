#!/bin/sh
# Transient nodes for a running MR-cluster: the lists of members, a refresh, and all NodeManagers at once.
#   grow.sh FOLDER ROOT MASTER ADDRESS TOTAL HOST...
# TOTAL is how many NodeManagers there are in the end. The refresh (a JVM) and the NodeManagers start side by side.
set -eu
folder=$1 root=$2 master=$3 address=$4 total=$5
shift 5

on() {
    host=$1
    shift
    ssh -F "$folder/ssh_config" "$host" "$@"
}

stamp() { echo "$1 $(date +%s%3N)"; }

stamp began
on "$master" "cat >$root/members/yarn.include && sh $root/refresh.sh" <"$folder/yarn.include" &
refresh=$!
for host in "$@"; do
    on "$host" "mkdir -p $root && tar -xf - -C $root && sh $root/prepare.sh && sh $root/start.sh" <"$folder/$host.tar" &
done
wait $refresh
stamp refreshed
tries=1200
until [ "$(curl -fsS --max-time 5 "http://$address:8088/ws/v1/cluster/nodes?states=RUNNING" 2>/dev/null |
    grep -o '"nodeHostName"' | wc -l)" -eq "$total" ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "not all NodeManagers run: did one come before the refresh?" >&2; exit 1; }
    sleep 0.25
done
stamp running
wait
