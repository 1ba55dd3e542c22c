-- TopKSwarmsGlobal: of the best of the days, the ten largest swarms on any day. Two MR-jobs.
tksl = LOAD '$sets/tksl' AS (day:chararray, tracker:chararray, hash:chararray, sessions:long);
swarms = GROUP tksl BY (tracker, hash);
peaks = FOREACH swarms GENERATE FLATTEN(group) AS (tracker, hash), MAX(tksl.sessions) AS sessions;
everything = GROUP peaks ALL;
tksg = FOREACH everything {
    sorted = ORDER peaks BY sessions DESC, hash, tracker;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (tracker, hash, sessions);
};
STORE tksg INTO '$sets/tksg';
