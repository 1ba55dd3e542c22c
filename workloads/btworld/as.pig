-- ActiveSwarms: the swarms of each day, and what part of all they are. Two MR-jobs: the total, then the days.
tot = LOAD '$sets/tot' AS (tracker:chararray, day:chararray, swarms:long, sessions:long);
everything = GROUP tot ALL;
total = FOREACH everything GENERATE SUM(tot.swarms) AS swarms;
days = GROUP tot BY day;
active = FOREACH days GENERATE group AS day, SUM(tot.swarms) AS swarms, (double) SUM(tot.swarms) / total.swarms AS part;
STORE active INTO '$sets/as';
