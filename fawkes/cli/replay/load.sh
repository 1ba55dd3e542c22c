#!/bin/sh
# sh load.sh JAR IDLE_SECONDS KEY=VALUE...: has the submitter of this MR-cluster run a job, and ends as the job does. The first
# client starts the submitter. Its files are beside the folders of all jobs, so that they are wiped with the MR-cluster.
set -u
jar=$1 idle=$2
shift 2
# It runs in the folder of its attempt that its files came to.
attempt=${PWD%/files}
spool=$attempt/../.submitter
name=${attempt##*/}
mkdir -p "$spool" || exit 73

alive() { read -r pid 2>/dev/null <"$spool/pid" && kill -0 "$pid" 2>/dev/null; }

# What one job starts must outlive it: it gets a session of its own, and not the job's mark, by which a job that is
# cancelled is found.
start() {
    # One that was begun long ago and is not there has died before it said so.
    [ -z "$(find "$spool/starting" -maxdepth 0 -mmin +1 2>/dev/null)" ] || rmdir "$spool/starting" 2>/dev/null
    mkdir "$spool/starting" 2>/dev/null || return 0
    mkdir -p "$spool/conf" && cp "$PWD/$jar" "$spool/$jar" && cp "$HADOOP_CONF_DIR"/* "$spool/conf" || exit 73
    (
        cd "$spool" && HADOOP_CONF_DIR=$spool/conf exec setsid env -u FAWKES_JOB \
            hadoop jar "$jar" fawkes.load.Submitter "$spool" "$idle" </dev/null >log 2>&1
    ) &
}

{
    printf '%s\n' "conf=$HADOOP_CONF_DIR" "$@"
} >"$spool/$name.new" && mv "$spool/$name.new" "$spool/$name.request" || exit 73

told=
while [ ! -e "$spool/$name.result" ]; do
    if ! alive; then
        # Taken by one that is gone: as if this client had been killed, YARN knows how the job ended.
        if [ -e "$spool/$name.taken" ] && [ ! -e "$spool/$name.result" ]; then
            cat "$spool/log" >&2
            exit 137
        fi
        start
    fi
    [ -n "$told" ] || [ ! -e "$spool/$name.application" ] || { told=yes; cat "$spool/$name.application"; }
    sleep 0.2
done
[ -n "$told" ] || cat "$spool/$name.application" 2>/dev/null
read -r code <"$spool/$name.result"
sed 1d "$spool/$name.result" >&2
exit "$code"
