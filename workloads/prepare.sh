#!/bin/sh
# prepare.sh FOLDER COMMAND...: makes input and puts it into FOLDER of HDFS; for a job of kind "script".
#
# COMMAND gets `--out data`, makes that folder with the files and prints how many bytes they have. What HDFS has
# afterwards must be as many: input that is smaller than what was asked for makes every later figure wrong.
set -eu
to=$1
shift
bytes=$("$@" --out data)
hadoop fs -mkdir -p "$to"
hadoop fs -put -f data/* "$to"
found=$(hadoop fs -du -s "$to" | awk '{ print $1 }')
if [ "$found" != "$bytes" ]; then
    echo "$to has $found bytes instead of $bytes: was something in it before?" >&2
    exit 1
fi
rm -r data
echo "$to: $bytes bytes"
