-- DeadSwarms: how many swarms of the best trackers were last seen on each day. One MR-job.
known = LOAD '$sets/join' AS (hash:chararray, tracker:chararray, birth:chararray, death:chararray);
deaths = GROUP known BY (tracker, SUBSTRING(death, 0, 8));
ds = FOREACH deaths GENERATE FLATTEN(group) AS (tracker, day), COUNT(known) AS swarms;
STORE ds INTO '$sets/ds';
