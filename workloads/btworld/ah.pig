-- ActiveHashes: how many hashes were seen on each day. Two MR-jobs: distinct pairs, then counts.
IMPORT 'scrapes.macro';
raw = scrapes('$raw');
pairs = FOREACH raw GENERATE hash, day;
seen = DISTINCT pairs;
days = GROUP seen BY day;
ah = FOREACH days GENERATE group AS day, COUNT(seen) AS hashes;
STORE ah INTO '$sets/ah';
