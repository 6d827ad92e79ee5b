-- SPDX-License-Identifier: Apache-2.0
-- The state file as version 1 of its schema had it, with something in it. Never change it: it is what is out there.
BEGIN TRANSACTION;
CREATE TABLE keys ( hash BLOB PRIMARY KEY, team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE, name TEXT NOT NULL, created_ms INTEGER NOT NULL) STRICT;
INSERT INTO "keys" VALUES(X'00','t1','local',1000);
CREATE TABLE sandboxes ( id TEXT PRIMARY KEY, team TEXT NOT NULL, template_id TEXT NOT NULL, template_name TEXT NOT NULL, template_key TEXT NOT NULL, state INTEGER NOT NULL, created_ms INTEGER NOT NULL, started_us INTEGER NOT NULL, end_ms INTEGER NOT NULL, timeout_s INTEGER NOT NULL, flags INTEGER NOT NULL, mem_bytes INTEGER NOT NULL, disk_bytes INTEGER NOT NULL, cpu_permille INTEGER NOT NULL, pids INTEGER NOT NULL, envd_token TEXT, traffic_token TEXT, metadata TEXT, env_vars TEXT, network TEXT, ended_ms INTEGER, end_reason TEXT) STRICT;
INSERT INTO "sandboxes" VALUES('irunning','t1','tpl','base','0123456789abcdef0123456789abcdef',1,1000,1000000,9000,8,1,536870912,1073741824,2000,512,'tok',NULL,'{"a":"b"}','{"X":"1"}',NULL,NULL,NULL);
INSERT INTO "sandboxes" VALUES('iended','t1','tpl','base','0123456789abcdef0123456789abcdef',3,1000,1000000,9000,8,0,1,1,1,1,NULL,NULL,NULL,NULL,NULL,2000,'expired');
CREATE TABLE teams ( id TEXT PRIMARY KEY, name TEXT NOT NULL, is_default INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL) STRICT;
INSERT INTO "teams" VALUES('t1','default',1,1000);
CREATE INDEX sandboxes_state ON sandboxes(state);
COMMIT;
PRAGMA user_version=1;
