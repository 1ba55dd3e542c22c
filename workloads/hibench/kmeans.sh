#!/bin/sh
# kmeans.sh INPUT OUTPUT ITERATIONS COMMAND...: K-Means by Hadoop Streaming, an MR-job for each iteration and one without
# reduces that assigns the samples. COMMAND makes the first centres as `--out first` says. OUTPUT/centres-N and
# OUTPUT/samples are the results.
set -eu
input=$1 output=$2 iterations=$3
shift 3
. ./streaming.sh

"$@" --out first >/dev/null
hadoop fs -rm -r -f -skipTrash "$output"
centres=first/part-00000
i=1
while [ "$i" -le "$iterations" ]; do
    streaming "CentroidComputing-$i" 1 "kmeans.py,$centres#centres" "$input" "$output/centres-$i" \
        'python3 kmeans.py iterate-map' 'python3 kmeans.py iterate-reduce'
    centres=hdfs://$output/centres-$i/part-00000
    i=$((i + 1))
done
streaming Clustering 0 "kmeans.py,$centres#centres" "$input" "$output/samples" 'python3 kmeans.py assign-map'
