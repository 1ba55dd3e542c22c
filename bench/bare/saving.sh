#!/bin/sh
# A program with much memory is dumped, stored in HDFS, brought back, and goes on: with plain commands.
#   saving.sh FOLDER CRIU COMMAND HDFS
# FOLDER is new, CRIU has the program and its libraries, COMMAND writes how far it is to `ticks` in its working folder.
set -eu
folder=$1 criu=$2/bin/criu lib=$2/lib command=$3 hdfs=$4
criu="$lib/ld-linux-x86-64.so.2 --library-path $lib $criu"

stamp() { echo "$1 $(date +%s%3N)"; }
ticks() { cat "$1/ticks" 2>/dev/null || :; }
inside() { # FOLDER SCRIPT, as process 1 with the folder at /media
    unshare --pid --mount --fork --kill-child /bin/bash -c "
        mount --make-rprivate / && mount --bind '$1' /media && mount -t proc proc /proc && cd /media || exit 1
        exec </dev/null >>/media/log 2>&1
        for open in /proc/self/fd/*; do
            case \${open##*/} in [012] | 255) ;; *) eval \"exec \${open##*/}>&-\" ;; esac
        done
        $2" &
}

mkdir -p "$folder/one/image" "$folder/two"
inside "$folder/one" "echo 999 >/proc/sys/kernel/ns_last_pid; setsid sh -c '$command' & echo \$! >pid; wait \$!; sleep 1000"
first=$!
until [ -n "$(ticks "$folder/one")" ]; do sleep 0.05; done
pid=$(cat "$folder/one/pid")
init=$(cat "/proc/$first/task/$first/children")
stamp began
nsenter -t "${init% }" -p -m -- sh -c "$criu dump -t $pid -D /media/image --manage-cgroups=ignore" >/dev/null
tar -cf "$folder/image.tar" -C "$folder" one
hdfs dfs -put "$folder/image.tar" "$hdfs"
stamp saved
kill -9 $first
rm -rf "$folder/one" "$folder/image.tar"
stamp again
hdfs dfs -get "$hdfs" "$folder/image.tar"
tar -xf "$folder/image.tar" -C "$folder/two" --strip-components 1
before=$(ticks "$folder/two")
inside "$folder/two" "$criu restore -D image --manage-cgroups=ignore >/dev/null 2>&1"
until now=$(ticks "$folder/two") && [ -n "$now" ] && [ "$now" != "$before" ]; do sleep 0.02; done
stamp restored
kill -9 $!
hdfs dfs -rm -skipTrash "$hdfs" >/dev/null
