#!/bin/sh
# verify.sh FOLDER BYTES: that what a program prepared in HDFS is as much as was asked for.
set -eu
found=$(hadoop fs -du -s "$1" | awk '{ print $1 }')
if [ "$found" != "$2" ]; then
    echo "$1 has $found bytes instead of $2" >&2
    exit 1
fi
echo "$1: $2 bytes"
