#!/bin/sh
# An MR-cluster of some hosts as an administrator would script it: plain ssh with kept connections, all daemons at once.
#   deploy.sh FOLDER ROOT MASTER ADDRESS HOST...
# FOLDER has for each host HOST.tar (configuration, lists of members, start scripts), to be unpacked in ROOT there;
# ADDRESS is the master's. Prints when it began, when the first job could be submitted, and YARN's time of its arrival.
set -eu
folder=$1 root=$2 master=$3 address=$4
shift 4

on() {
    host=$1
    shift
    ssh -F "$folder/ssh_config" "$host" "$@"
}

stamp() { echo "$1 $(date +%s%3N)"; }

ask() { curl -fsS --max-time 5 "$@" 2>/dev/null; }

# All NodeManagers run, all DataNodes are in service, HDFS is out of safe mode: what Fawkes waits for as well.
ready() {
    running=$(ask "http://$address:8088/ws/v1/cluster/nodes?states=RUNNING" | grep -o '"nodeHostName"' | wc -l)
    [ "$running" -eq $# ] || return 1
    storing=$(ask "http://$address:9870/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")
    case $storing in *'"Safemode" : ""'*) ;; *) return 1 ;; esac
    [ "$(echo "$storing" | grep -o 'adminState\\":\\"In Service' | wc -l)" -eq $# ]
}

stamp began
for host in "$@"; do
    on "$host" "mkdir -p $root && tar -xf - -C $root && sh $root/prepare.sh" <"$folder/$host.tar" &
done
wait
(on "$master" "sh $root/format.sh" && on "$master" "sh $root/start-namenode.sh") &
for host in "$@"; do on "$host" "sh $root/start.sh" & done
wait
stamp started

tries=1200
until ready "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "the MR-cluster is not ready" >&2; exit 1; }
    sleep 0.25
done
stamp ready

ask -X PUT "http://$address:9870/webhdfs/v1/?op=SETSTORAGEPOLICY&storagepolicy=COLD&user.name=$(cat "$folder/user")"
on "$master" "sh $root/job.sh"
tries=1200
until accepted=$(ask "http://$address:8088/ws/v1/cluster/apps" | grep -o '"startedTime":[0-9]*'); do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || { echo "no job was accepted" >&2; exit 1; }
    sleep 0.25
done
echo "accepted ${accepted#*:}"
