-- TrackerOverTime (TT in the paper's Table 1): each tracker on each day. One MR-job.
IMPORT 'scrapes.macro';
raw = scrapes('$raw');
slim = FOREACH raw GENERATE tracker, day, hash, seeders + leechers AS sessions,
    (seeders == 0 ? 1L : 0L) AS seedless, (leechers == 0 ? 1L : 0L) AS leechless;
days = GROUP slim BY (tracker, day);
tot = FOREACH days {
    seen = slim.hash;
    swarms = DISTINCT seen;
    GENERATE FLATTEN(group) AS (tracker, day), COUNT(swarms) AS swarms, SUM(slim.sessions) AS sessions,
        SUM(slim.seedless) AS seedless, SUM(slim.leechless) AS leechless, COUNT(slim) AS samples;
};
STORE tot INTO '$sets/tot';
