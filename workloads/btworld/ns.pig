-- NewbornSwarms: how many swarms of the best trackers were first seen on each day. Three MR-jobs: the best trackers are
-- made ready for a replicated join; the join with the raw data (JoinTopKTrackers, in the maps) and birth and death of
-- each swarm; the counts.
IMPORT 'scrapes.macro';
raw = scrapes('$raw');
best = LOAD '$sets/tktg' AS (name:chararray, sessions:long);
joined = JOIN raw BY tracker, best BY name USING 'replicated';
slim = FOREACH joined GENERATE raw::hash AS hash, raw::tracker AS tracker, raw::timestamp AS timestamp;
swarms = GROUP slim BY (hash, tracker);
lives = FOREACH swarms GENERATE FLATTEN(group) AS (hash, tracker), MIN(slim.timestamp) AS birth, MAX(slim.timestamp) AS death;
STORE lives INTO '$sets/join';
known = LOAD '$sets/join' AS (hash:chararray, tracker:chararray, birth:chararray, death:chararray);
births = GROUP known BY (tracker, SUBSTRING(birth, 0, 8));
ns = FOREACH births GENERATE FLATTEN(group) AS (tracker, day), COUNT(known) AS swarms;
STORE ns INTO '$sets/ns';
