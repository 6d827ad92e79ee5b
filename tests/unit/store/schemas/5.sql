-- SPDX-License-Identifier: Apache-2.0
-- The state file as version 5 of its schema had it, with something in it. Never change it: it is what is out there.
BEGIN TRANSACTION;
CREATE TABLE keys ( id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE, name TEXT NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL, length INTEGER NOT NULL, admin INTEGER NOT NULL, local INTEGER NOT NULL, created_ms INTEGER NOT NULL, used_ms INTEGER, expires_ms INTEGER) STRICT;
INSERT INTO "keys" VALUES('k1',X'01','t1','ci','e2b_','ab',44,0,0,1000,NULL,NULL);
CREATE TABLE log_pieces ( id TEXT NOT NULL REFERENCES logs(id) ON DELETE CASCADE, gen INTEGER NOT NULL, seq INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(id, gen, seq)) STRICT;
INSERT INTO "log_pieces" VALUES('irunning',0,0,X'616263');
CREATE TABLE logs ( id TEXT PRIMARY KEY, team TEXT NOT NULL, gen INTEGER NOT NULL, seq INTEGER NOT NULL, gen_bytes INTEGER NOT NULL, old_bytes INTEGER NOT NULL, ended_ms INTEGER) STRICT;
INSERT INTO "logs" VALUES('irunning','t1',0,1,3,0,NULL);
CREATE TABLE sandboxes ( id TEXT PRIMARY KEY, team TEXT NOT NULL, template_id TEXT NOT NULL, template_name TEXT NOT NULL, template_key TEXT NOT NULL, state INTEGER NOT NULL, created_ms INTEGER NOT NULL, started_us INTEGER NOT NULL, end_ms INTEGER NOT NULL, timeout_s INTEGER NOT NULL, flags INTEGER NOT NULL, mem_bytes INTEGER NOT NULL, disk_bytes INTEGER NOT NULL, cpu_permille INTEGER NOT NULL, pids INTEGER NOT NULL, envd_token TEXT, traffic_token TEXT, metadata TEXT, env_vars TEXT, network TEXT, ended_ms INTEGER, end_reason TEXT, active_ms INTEGER, kept_name TEXT, kept INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "sandboxes" VALUES('irunning','t1','tpl','base','0123456789abcdef0123456789abcdef',2,1000,1000000,9000,8,1,536870912,1073741824,2000,512,'tok',NULL,'{"a":"b"}','{"X":"1"}',NULL,NULL,NULL,NULL,'kkept',3);
INSERT INTO "sandboxes" VALUES('iended','t1','tpl','base','0123456789abcdef0123456789abcdef',3,1000,1000000,9000,8,0,1,1,1,1,NULL,NULL,NULL,NULL,NULL,2000,'expired',NULL,NULL,0);
CREATE TABLE team_points ( team TEXT NOT NULL, at_s INTEGER NOT NULL, running INTEGER NOT NULL, starts INTEGER NOT NULL, PRIMARY KEY(team, at_s)) STRICT, WITHOUT ROWID;
INSERT INTO "team_points" VALUES('t1',60,1,2);
CREATE TABLE teams ( id TEXT PRIMARY KEY, name TEXT NOT NULL, is_default INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL, blocked INTEGER NOT NULL DEFAULT 0, max_sandboxes INTEGER, rate_limit INTEGER) STRICT;
INSERT INTO "teams" VALUES('t1','default',1,1000,0,NULL,NULL);
CREATE INDEX sandboxes_state ON sandboxes(state);
CREATE UNIQUE INDEX teams_name ON teams(name);
CREATE INDEX keys_team ON keys(team);
CREATE INDEX logs_ended ON logs(ended_ms) WHERE ended_ms IS NOT NULL;
COMMIT;
PRAGMA user_version=5;
