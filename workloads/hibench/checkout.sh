#!/bin/bash
# checkout.sh CHECKOUT WORKLOAD [PROFILE]: prepare.sh and run.sh of a site's own HiBench on this MR-cluster.
#
# The checkout itself is not written to: its scripts and its configuration are copied, the rest is linked. The last
# configuration file that HiBench reads names this MR-cluster; its nodes are those of now, for HiBench's throughput of a
# node. What HiBench reports goes to standard output.
set -euo pipefail
checkout=$1 workload=$2 profile=${3-}
prepare=bin/workloads/$workload/prepare/prepare.sh run=bin/workloads/$workload/hadoop/run.sh

for file in conf/hibench.conf "$prepare" "$run"; do
    if [ ! -f "$checkout/$file" ]; then
        echo "$checkout has no $file: not HiBench, or it has no $workload for Hadoop" >&2
        exit 2
    fi
done

mkdir hibench
for path in "$checkout"/*; do
    case ${path##*/} in
        bin | conf) cp -r "$path" hibench/ ;;
        report) ;;
        *) ln -s "$path" hibench/ ;;
    esac
done

master=$(sed -n '/<name>fs.defaultFS</{n;s/.*<value>\(.*\)<\/value>.*/\1/p}' "$HADOOP_CONF_DIR/core-site.xml")
nodes=$(yarn node -list 2>/dev/null | awk '/RUNNING/ { sub(/:.*/, "", $1); printf "%s%s", (n++ ? " " : ""), $1 }')
{
    echo "hibench.hadoop.home $HADOOP_HOME"
    echo "hibench.hadoop.executable $HADOOP_HOME/bin/hadoop"
    echo "hibench.hadoop.configure.dir $HADOOP_CONF_DIR"
    echo "hibench.hadoop.release apache"
    echo "hibench.hdfs.master $master"
    echo "hibench.masters.hostnames $(hostname)"
    echo "hibench.slaves.hostnames $nodes"
    [ -z "$profile" ] || echo "hibench.scale.profile $profile"
} >hibench/conf/zz-fawkes.conf

bash "hibench/$prepare"
bash "hibench/$run"
cat hibench/report/hibench.report
