-- SwarmOverTime: each swarm (a hash at a tracker) on each day. Two MR-jobs: repeated scrapes go, then statistics.
IMPORT 'scrapes.macro';
raw = scrapes('$raw');
slim = FOREACH raw GENERATE hash, tracker, day, timestamp, seeders, leechers;
once = DISTINCT slim;
days = GROUP once BY (hash, tracker, day);
sot = FOREACH days GENERATE FLATTEN(group) AS (hash, tracker, day), SUM(once.seeders) AS seeders,
    SUM(once.leechers) AS leechers, MAX(once.seeders) AS peak, COUNT(once) AS samples;
STORE sot INTO '$sets/sot';
