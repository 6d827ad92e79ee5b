/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the messages of process.Process and filesystem.Filesystem. */
#include "http/schema.h"

#include "base/fd.h"

#define FIELDS(name, ...) \
	static const struct pb_field name##_fields[] = { __VA_ARGS__ }; \
	const struct pb_message name = { name##_fields, ARRAY_LEN(name##_fields) }

#define INNER(name, ...) \
	static const struct pb_field name##_fields[] = { __VA_ARGS__ }; \
	static const struct pb_message name = { name##_fields, ARRAY_LEN(name##_fields) }

#define ENUM(name, ...) \
	static const struct pb_value name##_values[] = { __VA_ARGS__ }; \
	static const struct pb_enum name = { name##_values, ARRAY_LEN(name##_values) }

#define STRING(n, name) { name, n, PB_STRING, false, 0, NULL, NULL }
#define STRINGS(n, name) { name, n, PB_STRING, true, 0, NULL, NULL }
#define BOOL(n, name) { name, n, PB_BOOL, false, 0, NULL, NULL }
#define UINT32(n, name) { name, n, PB_UINT32, false, 0, NULL, NULL }
#define SINT32(n, name) { name, n, PB_SINT32, false, 0, NULL, NULL }
#define INT64(n, name) { name, n, PB_INT64, false, 0, NULL, NULL }
#define TIME(n, name) { name, n, PB_TIME, false, 0, NULL, NULL }
#define MAP(n, name) { name, n, PB_MAP, false, 0, NULL, NULL }
#define ENUMED(n, name, values) { name, n, PB_ENUM, false, 0, NULL, &(values) }
#define ONE(n, name, message) { name, n, PB_MESSAGE, false, 0, &(message), NULL }
#define MANY(n, name, message) { name, n, PB_MESSAGE, true, 0, &(message), NULL }
/* Members of a message's oneof. */
#define OR_ONE(n, name, message) { name, n, PB_MESSAGE, false, 1, &(message), NULL }
#define OR_BYTES(n, name) { name, n, PB_BYTES, false, 1, NULL, NULL }
#define OR_UINT32(n, name) { name, n, PB_UINT32, false, 1, NULL, NULL }
#define OR_STRING(n, name) { name, n, PB_STRING, false, 1, NULL, NULL }

const struct pb_message pb_empty = { NULL, 0 };

/* process.Process */

ENUM(signals, { "SIGNAL_UNSPECIFIED", 0 }, { "SIGNAL_SIGTERM", 15 }, { "SIGNAL_SIGKILL", 9 });

INNER(selector, OR_UINT32(1, "pid"), OR_STRING(2, "tag"));
INNER(pty_size, UINT32(1, "cols"), UINT32(2, "rows"));
INNER(pty, ONE(1, "size", pty_size));
INNER(config, STRING(1, "cmd"), STRINGS(2, "args"), MAP(3, "envs"), STRING(4, "cwd"));
INNER(process_info, ONE(1, "config", config), UINT32(2, "pid"), STRING(3, "tag"));
INNER(input, OR_BYTES(1, "stdin"), OR_BYTES(2, "pty"));
INNER(input_data, ONE(2, "input", input));

INNER(event_start, UINT32(1, "pid"));
INNER(event_data, OR_BYTES(1, "stdout"), OR_BYTES(2, "stderr"), OR_BYTES(3, "pty"));
INNER(event_end, SINT32(1, "exitCode"), BOOL(2, "exited"), STRING(3, "status"), STRING(4, "error"));
INNER(event, OR_ONE(1, "start", event_start), OR_ONE(2, "data", event_data), OR_ONE(3, "end", event_end),
    OR_ONE(4, "keepalive", pb_empty));

FIELDS(pb_of_process, ONE(1, "process", selector));
FIELDS(pb_start_request, ONE(1, "process", config), ONE(2, "pty", pty), STRING(3, "tag"), BOOL(4, "stdin"));
FIELDS(pb_event_response, ONE(1, "event", event));
FIELDS(pb_list_response, MANY(1, "processes", process_info));
FIELDS(pb_update_request, ONE(1, "process", selector), ONE(2, "pty", pty));
FIELDS(pb_send_input_request, ONE(1, "process", selector), ONE(2, "input", input));
FIELDS(pb_send_signal_request, ONE(1, "process", selector), ENUMED(2, "signal", signals));
FIELDS(pb_stream_input_request, OR_ONE(1, "start", pb_of_process), OR_ONE(2, "data", input_data),
    OR_ONE(3, "keepalive", pb_empty));

/* filesystem.Filesystem */

ENUM(file_types, { "FILE_TYPE_UNSPECIFIED", 0 }, { "FILE_TYPE_FILE", 1 }, { "FILE_TYPE_DIRECTORY", 2 },
    { "FILE_TYPE_SYMLINK", 3 });
ENUM(event_types, { "EVENT_TYPE_UNSPECIFIED", 0 }, { "EVENT_TYPE_CREATE", 1 }, { "EVENT_TYPE_WRITE", 2 },
    { "EVENT_TYPE_REMOVE", 3 }, { "EVENT_TYPE_RENAME", 4 }, { "EVENT_TYPE_CHMOD", 5 });

INNER(entry, STRING(1, "name"), ENUMED(2, "type", file_types), STRING(3, "path"), INT64(4, "size"), UINT32(5, "mode"),
    STRING(6, "permissions"), STRING(7, "owner"), STRING(8, "group"), TIME(9, "modifiedTime"),
    STRING(10, "symlinkTarget"), MAP(11, "metadata"));
INNER(fs_event, STRING(1, "name"), ENUMED(2, "type", event_types), ONE(3, "entry", entry));

FIELDS(pb_path_request, STRING(1, "path"));
FIELDS(pb_entry_response, ONE(1, "entry", entry));
FIELDS(pb_move_request, STRING(1, "source"), STRING(2, "destination"));
FIELDS(pb_list_dir_request, STRING(1, "path"), UINT32(2, "depth"));
FIELDS(pb_list_dir_response, MANY(1, "entries", entry));
FIELDS(pb_watch_request, STRING(1, "path"), BOOL(2, "recursive"), BOOL(3, "includeEntry"),
    BOOL(4, "allowNetworkMounts"));
FIELDS(pb_watch_response, OR_ONE(1, "start", pb_empty), OR_ONE(2, "filesystem", fs_event),
    OR_ONE(3, "keepalive", pb_empty));
FIELDS(pb_watcher, STRING(1, "watcherId"));
FIELDS(pb_watcher_events_response, MANY(1, "events", fs_event));
