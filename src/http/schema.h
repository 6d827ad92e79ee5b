/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the messages of process.Process and filesystem.Filesystem: the one place that knows their field numbers.
 *
 * Named after what they hold where several calls share a shape. */
#pragma once

#include "http/protobuf.h"

extern const struct pb_message pb_empty;
extern const struct pb_message pb_of_process; /* {process}: who is meant */
extern const struct pb_message pb_start_request, pb_event_response, pb_list_response, pb_update_request;
extern const struct pb_message pb_send_input_request, pb_stream_input_request, pb_send_signal_request;

extern const struct pb_message pb_path_request, pb_entry_response, pb_move_request;
extern const struct pb_message pb_list_dir_request, pb_list_dir_response;
extern const struct pb_message pb_watch_request, pb_watch_response, pb_watcher, pb_watcher_events_response;
