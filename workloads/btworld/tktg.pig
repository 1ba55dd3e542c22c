-- TopKTrackersGlobal: of the best of the days, the ten trackers with most sessions on any day. Two MR-jobs.
tktl = LOAD '$sets/tktl' AS (day:chararray, tracker:chararray, sessions:long);
trackers = GROUP tktl BY tracker;
peaks = FOREACH trackers GENERATE group AS tracker, MAX(tktl.sessions) AS sessions;
everything = GROUP peaks ALL;
tktg = FOREACH everything {
    sorted = ORDER peaks BY sessions DESC, tracker;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (tracker, sessions);
};
STORE tktg INTO '$sets/tktg';
