-- HashOverTime: each hash on each day, at whatever trackers. Two MR-jobs: repeated scrapes go, then statistics.
IMPORT 'scrapes.macro';
raw = scrapes('$raw');
slim = FOREACH raw GENERATE hash, day, tracker, timestamp, seeders, leechers;
once = DISTINCT slim;
days = GROUP once BY (hash, day);
hot = FOREACH days GENERATE FLATTEN(group) AS (hash, day), SUM(once.seeders) AS seeders,
    SUM(once.leechers) AS leechers, COUNT(once) AS samples;
STORE hot INTO '$sets/hot';
