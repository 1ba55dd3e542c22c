-- TopKHashesGlobal: of the best of the days, the ten hashes with most sessions on any day. Two MR-jobs.
tkhl = LOAD '$sets/tkhl' AS (day:chararray, hash:chararray, sessions:long);
hashes = GROUP tkhl BY hash;
peaks = FOREACH hashes GENERATE group AS hash, MAX(tkhl.sessions) AS sessions;
everything = GROUP peaks ALL;
tkhg = FOREACH everything {
    sorted = ORDER peaks BY sessions DESC, hash;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (hash, sessions);
};
STORE tkhg INTO '$sets/tkhg';
