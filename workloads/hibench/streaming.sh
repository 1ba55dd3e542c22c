# Sourced: streaming NAME REDUCES FILES INPUT OUTPUT MAPPER [REDUCER] runs one MR-job by Hadoop Streaming.
# A client works little: a small one costs half the processor time.
export HADOOP_CLIENT_OPTS="${HADOOP_CLIENT_OPTS:--Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1}"

streaming() {
    echo "$1"
    if [ $# -gt 6 ]; then
        mapred streaming -D "mapreduce.job.name=$1" -D "mapreduce.job.reduces=$2" -files "$3" \
            -input "$4" -output "$5" -mapper "$6" -reducer "$7"
    else
        mapred streaming -D "mapreduce.job.name=$1" -D "mapreduce.job.reduces=0" -files "$3" \
            -input "$4" -output "$5" -mapper "$6"
    fi
}
