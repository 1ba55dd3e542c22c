-- TopKSwarmsLocal: the ten largest swarms of each day. Two MR-jobs: of each tracker, then of the day.
sot = LOAD '$sets/sot' AS (hash:chararray, tracker:chararray, day:chararray, seeders:long, leechers:long);
sums = FOREACH sot GENERATE day, tracker, hash, seeders + leechers AS sessions;
parts = GROUP sums BY (day, tracker);
best = FOREACH parts {
    sorted = ORDER sums BY sessions DESC, hash;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (day, tracker, hash, sessions);
};
days = GROUP best BY day;
tksl = FOREACH days {
    sorted = ORDER best BY sessions DESC, hash, tracker;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (day, tracker, hash, sessions);
};
STORE tksl INTO '$sets/tksl';
