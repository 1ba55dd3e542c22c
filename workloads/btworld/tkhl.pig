-- TopKHashesLocal: the ten hashes with most sessions of each day. Two MR-jobs: of each part of the hashes, then of the day.
hot = LOAD '$sets/hot' AS (hash:chararray, day:chararray, seeders:long, leechers:long);
sums = FOREACH hot GENERATE day, hash, seeders + leechers AS sessions;
parts = GROUP sums BY (day, SUBSTRING(hash, 0, 1));
best = FOREACH parts {
    sorted = ORDER sums BY sessions DESC, hash;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (day, hash, sessions);
};
days = GROUP best BY day;
tkhl = FOREACH days {
    sorted = ORDER best BY sessions DESC, hash;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (day, hash, sessions);
};
STORE tkhl INTO '$sets/tkhl';
