#!/bin/sh
# The same as bare/saving.sh by the scripts of a container, as YARN and a node's orders call them.
#   saving.sh FOLDER CRIU COMMAND HDFS TASK SCRIPT JAR
# TASK and SCRIPT are `fawkes-task` and `fawkes-criu`; HDFS is the folder of the results.
set -eu
folder=$1 criu=$2 command=$3 hdfs=$4 task=$5 script=$6 jar=$7

stamp() { echo "$1 $(date +%s%3N)"; }
ticks() { cat "$folder/$1/fawkes-work/ticks" 2>/dev/null || :; }
start() { # CONTAINER SAVED
    mkdir "$folder/$1"
    cd "$folder/$1"
    ln -s "$task" fawkes-task
    ln -s "$script" fawkes-criu
    ln -s "$criu" fawkes-criu.tar
    ln -s ../fawkes-command ../fawkes-tasks.xml .
    CONTAINER_ID=$1 FAWKES_TASK_SAVED=$2 /bin/sh ./fawkes-task >log 2>&1 &
}

mkdir "$folder"
echo "$command" >"$folder/fawkes-command"
cat >"$folder/fawkes-tasks.xml" <<END
<configuration>
<property><name>fawkes.tasks.name</name><value>bench</value></property>
<property><name>fawkes.tasks.output</name><value>$hdfs</value></property>
</configuration>
END
CLASSPATH=$jar:$(hadoop classpath)
export CLASSPATH FAWKES_TASK_INDEX=0 FAWKES_TASK_SAVES=criu
start container_1 ""
until [ -n "$(ticks container_1)" ]; do sleep 0.05; done
stamp began
read -r up _ </proc/uptime
echo "save ${up%.*}${up#*.}" >fawkes-order
/bin/sh ./fawkes-criu dump "$PWD/fawkes-work" "$PWD/fawkes-criu.tar"
code=0
wait $! || code=$?
[ $code -eq 85 ] || { cat log >&2; exit 1; }
stamp saved
before=$(ticks container_1)
rm -rf "$folder/container_1"
stamp again
start container_2 yes
until now=$(ticks container_2) && [ -n "$now" ] && [ "$now" != "$before" ]; do sleep 0.02; done
stamp restored
kill -9 "$(cat fawkes-work/.outer)"
hdfs dfs -rm -r -skipTrash "$hdfs" >/dev/null
