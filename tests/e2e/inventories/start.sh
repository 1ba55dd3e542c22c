# Start munged and a daemon of Slurm on a host, with all files in one folder. Arguments: daemon, folder, memory of a
# node (MiB), host of slurmctld, text of slurm.conf.
PATH=$PATH:/usr/sbin:/sbin
set -eu
umask 077
mkdir -p "$2/state" "$2/spool"
cd "$2"
printf '%s\n' "$5" | sed "s,FOLDER,$2,; s,MEMORY,$3,; s,HOST,$4," >slurm.conf
printf 'the key of a lab that is gone in a few minutes' >key
munged --force --key-file="$2/key" --socket="$2/munge" --pid-file="$2/munged.pid" --log-file="$2/munged.log" \
    --seed-file="$2/munged.seed" >munged.out 2>&1
"$1" -f "$2/slurm.conf" >"$1.out" 2>&1
