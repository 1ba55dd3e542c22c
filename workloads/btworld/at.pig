-- ActiveTrackers: how many trackers there were on each day. One MR-job.
tot = LOAD '$sets/tot' AS (tracker:chararray, day:chararray, swarms:long, sessions:long);
days = GROUP tot BY day;
at = FOREACH days GENERATE group AS day, COUNT(tot) AS trackers;
STORE at INTO '$sets/at';
