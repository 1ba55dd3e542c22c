-- TopKTrackersLocal: the ten trackers with most sessions of each day. Two MR-jobs: the ten of each part of a day (so that
-- no reduce has to hold a whole day), then of the day. Of equals the first by name counts.
tot = LOAD '$sets/tot' AS (tracker:chararray, day:chararray, swarms:long, sessions:long);
parts = GROUP tot BY (day, SIZE(tracker) % 8L);
best = FOREACH parts {
    sorted = ORDER tot BY sessions DESC, tracker;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top.(day, tracker, sessions)) AS (day, tracker, sessions);
};
days = GROUP best BY day;
tktl = FOREACH days {
    sorted = ORDER best BY sessions DESC, tracker;
    top = LIMIT sorted 10;
    GENERATE FLATTEN(top) AS (day, tracker, sessions);
};
STORE tktl INTO '$sets/tktl';
