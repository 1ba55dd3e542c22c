-- The whole workflow, one query after another, in one client: 14 queries, 26 MR-jobs. $raw is the folder of the records,
-- $sets that of the results.
exec -param raw=$raw -param sets=$sets tot.pig;
exec -param raw=$raw -param sets=$sets ah.pig;
exec -param raw=$raw -param sets=$sets sot.pig;
exec -param raw=$raw -param sets=$sets hot.pig;
exec -param raw=$raw -param sets=$sets at.pig;
exec -param raw=$raw -param sets=$sets as.pig;
exec -param raw=$raw -param sets=$sets tktl.pig;
exec -param raw=$raw -param sets=$sets tktg.pig;
exec -param raw=$raw -param sets=$sets tksl.pig;
exec -param raw=$raw -param sets=$sets tksg.pig;
exec -param raw=$raw -param sets=$sets tkhl.pig;
exec -param raw=$raw -param sets=$sets tkhg.pig;
exec -param raw=$raw -param sets=$sets ns.pig;
exec -param raw=$raw -param sets=$sets ds.pig;
