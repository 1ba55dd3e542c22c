#!/bin/bash
# checkout.sh CHECKOUT WORKLOAD [PROFILE]: prepare.sh and run.sh of a site's own HiBench on this MR-cluster.
#
# The checkout itself is not written to: its scripts and its configuration are copied, the rest is linked. The last
# configuration file that HiBench reads names this MR-cluster; its nodes are those of now, for HiBench's throughput of a
# node. HiBench's report goes to standard output, what it says while it works to standard error.
set -euo pipefail
checkout=$1 workload=$2 profile=${3-}
prepare=bin/workloads/$workload/prepare/prepare.sh run=bin/workloads/$workload/hadoop/run.sh

fail() {
    printf '%s\n' "$*" >&2
    exit 2
}

for file in conf/hibench.conf "$prepare" "$run"; do
    [ -f "$checkout/$file" ] || fail "$checkout has no $file: not HiBench, or it has no $workload for Hadoop"
done
# Without its configuration HiBench goes on with nothing; without its monitor it fails when the MR-job is done.
for script in "$checkout"/bin/functions/{load_config,monitor}.py; do
    python=$([ ! -f "$script" ] || sed -n '1s/^#! *\/usr\/bin\/env  *//p' "$script")
    [ -n "$python" ] || continue
    command -v "$python" >/dev/null || fail "$script needs $python, which is not in $PATH"
    "$python" -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$script" ||
        fail "$script cannot be read by the $python in $PATH"
done
command -v bc >/dev/null || fail "HiBench's report needs bc, which is not in $PATH"

mkdir hibench
for path in "$checkout"/*; do
    case ${path##*/} in
        bin | conf) cp -rL "$path" hibench/ ;;
        report) ;;
        *) ln -s "$path" hibench/ ;;
    esac
done
chmod -R u+w hibench/bin hibench/conf

first() {
    for file; do [ ! -f "$file" ] || { echo "$file" && return; }; done
}
# HiBench looks for them where Apache's tarball has them, and stops when they are elsewhere.
examples=$(first "$HADOOP_HOME"/{share/hadoop/mapreduce,lib}/hadoop-mapreduce-examples-*.jar)
tests=$(first "$HADOOP_HOME"/{share/hadoop/mapreduce,lib}/hadoop-mapreduce-client-jobclient-*-tests.jar)
master=$(sed -n '/<name>fs.defaultFS</{n;s/.*<value>\(.*\)<\/value>.*/\1/p}' "$HADOOP_CONF_DIR/core-site.xml")
nodes=$(yarn node -list | awk '/RUNNING/ { sub(/:.*/, "", $1); printf "%s%s", (n++ ? " " : ""), $1 }')
{
    # A site's file may name its checkout, or a place for all of its reports.
    echo "hibench.home $PWD/hibench"
    echo "hibench.report.dir $PWD/hibench/report"
    echo "hibench.report.name hibench.report"
    echo "hibench.hadoop.home $HADOOP_HOME"
    echo "hibench.hadoop.executable $HADOOP_HOME/bin/hadoop"
    echo "hibench.hadoop.configure.dir $HADOOP_CONF_DIR"
    echo "hibench.hadoop.release apache"
    [ -z "$examples" ] || echo "hibench.hadoop.examples.jar $examples"
    [ -z "$tests" ] || echo "hibench.hadoop.examples.test.jar $tests"
    echo "hibench.hdfs.master $master"
    echo "hibench.masters.hostnames $(hostname)"
    echo "hibench.slaves.hostnames $nodes"
    [ -z "$profile" ] || echo "hibench.scale.profile $profile"
} >hibench/conf/zz-fawkes.conf

# Through a pipe: HiBench opens /dev/stderr again and again, and each time a file would be cut to nothing.
for script in "$prepare" "$run"; do
    bash "hibench/$script" 2>&1 | cat >&2
done
cat hibench/report/hibench.report
