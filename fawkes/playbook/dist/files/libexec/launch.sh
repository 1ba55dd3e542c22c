# Sourced by the commands in bin/ with their table in $commands: starts the class of one command.
#
# Understood from the environment, as by Apache Hadoop's own scripts: JAVA_HOME, HADOOP_CONF_DIR, HADOOP_CLASSPATH,
# HADOOP_USER_CLASSPATH_FIRST, HADOOP_HEAPSIZE_MAX, HADOOP_OPTS, HADOOP_CLIENT_OPTS, HADOOP_ROOT_LOGGER.

name=${0##*/}
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")

fail() {
    printf '%s: %s\n' "$name" "$*" >&2
    exit 1
}

usage() {
    printf 'Usage: %s [--config DIR] [--loglevel LEVEL] COMMAND [ARGUMENTS]\n' "$name"
    printf '       %s [--config DIR] CLASS [ARGUMENTS]\n\nCommands:\n  classpath\n' "$name"
    printf '%s' "$commands" | while read -r command class itself; do
        [ -z "$command" ] || printf '  %s\n' "$command"
    done
}

while [ $# -gt 0 ]; do
    case $1 in
        --config) [ $# -gt 1 ] || fail '--config needs a folder'; HADOOP_CONF_DIR=$2; shift 2 ;;
        --loglevel) [ $# -gt 1 ] || fail '--loglevel needs a level'; HADOOP_ROOT_LOGGER=$2,console; shift 2 ;;
        -h | -help | --help | help) usage; exit 0 ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || { usage >&2; exit 1; }
wanted=$1
shift

case $wanted in
    version | classpath) ;;
    *)
        [ -n "${HADOOP_CONF_DIR-}" ] || fail 'HADOOP_CONF_DIR is not set; `fawkes env` prints it for an MR-cluster'
        [ -d "$HADOOP_CONF_DIR" ] || fail "HADOOP_CONF_DIR is $HADOOP_CONF_DIR, which is no folder"
        ;;
esac
export HADOOP_CONF_DIR HADOOP_HOME="$root"

classpath=${HADOOP_CONF_DIR:+$HADOOP_CONF_DIR:}$root/etc:$root/web:$root/lib/*
if [ -n "${HADOOP_CLASSPATH-}" ]; then
    if [ -n "${HADOOP_USER_CLASSPATH_FIRST-}" ]; then
        classpath=$HADOOP_CLASSPATH:$classpath
    else
        classpath=$classpath:$HADOOP_CLASSPATH
    fi
fi
if [ "$wanted" = classpath ]; then
    printf '%s\n' "$classpath"
    exit 0
fi

found=$(printf '%s' "$commands" | while read -r command class itself; do
    [ "$command" != "$wanted" ] || printf '%s %s\n' "$class" "$itself"
done)
case $found:$wanted in
    *' itself:'*) set -- "$wanted" "$@"; class=${found%% *} ;;
    ?*:*) class=${found%% *} ;;
    :*.*) class=$wanted ;;
    *) fail "$wanted is neither a command nor a class; \`$name --help\` lists the commands" ;;
esac

if [ -n "${JAVA_HOME-}" ]; then
    java=$JAVA_HOME/bin/java
    [ -x "$java" ] || fail "JAVA_HOME is $JAVA_HOME, which has no bin/java"
else
    java=$(command -v java) || fail 'no Java: set JAVA_HOME'
fi
case ${HADOOP_HEAPSIZE_MAX-} in
    '') heap= ;;
    *[!0-9]*) heap=-Xmx$HADOOP_HEAPSIZE_MAX ;;
    *) heap=-Xmx${HADOOP_HEAPSIZE_MAX}m ;;
esac
# Without the second compiler a short command takes half the CPU time; work that lasts is better off with it.
case $wanted in
    jar | distcp | streaming | pipes | balancer | mover | *.*) quick= ;;
    *) quick=-XX:TieredStopAtLevel=1 ;;
esac
# The options are lists of words, hence not quoted; no pattern in them may match a file.
set -f
exec "$java" "@$root/libexec/java-flags" $quick $heap "-Dhadoop.home.dir=$root" \
    "-Dhadoop.root.logger=${HADOOP_ROOT_LOGGER:-INFO,console}" ${HADOOP_OPTS-} ${HADOOP_CLIENT_OPTS-} \
    -cp "$classpath" "$class" "$@"
