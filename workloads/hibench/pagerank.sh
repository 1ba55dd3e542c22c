#!/bin/sh
# pagerank.sh INPUT OUTPUT PAGES ITERATIONS REDUCES: PageRank by Hadoop Streaming, three MR-jobs for each iteration.
# The last OUTPUT/sorted-N has the pages by rank.
set -eu
input=$1 output=$2 pages=$3 iterations=$4 reduces=$5
. ./streaming.sh

hadoop fs -rm -r -f -skipTrash "$output"
ranks=$input
i=1
while [ "$i" -le "$iterations" ]; do
    streaming "DanglingPages-$i" 1 pagerank.py "$ranks" "$output/dangling-$i" \
        'python3 pagerank.py dangling-map' 'python3 pagerank.py dangling-reduce'
    streaming "UpdateRanks-$i" "$reduces" "pagerank.py,hdfs://$output/dangling-$i/part-00000#dangling" \
        "$ranks" "$output/ranks-$i" \
        'python3 pagerank.py update-map' "python3 pagerank.py update-reduce $pages"
    ranks=$output/ranks-$i
    streaming "SortRanks-$i" 1 pagerank.py "$ranks" "$output/sorted-$i" \
        'python3 pagerank.py sort-map' 'python3 pagerank.py sort-reduce'
    i=$((i + 1))
done
