/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the messages of process.Process and filesystem.Filesystem, with their field numbers.
 *
 * Messages that several calls share are named after their content. */
#pragma once

#include "http/protobuf.h"

extern const struct pb_message pb_empty;
extern const struct pb_message pb_of_process; /* {process}: a process selector */
extern const struct pb_message pb_start_request, pb_event_response, pb_list_response, pb_update_request;
extern const struct pb_message pb_send_input_request, pb_stream_input_request, pb_send_signal_request;

extern const struct pb_message pb_path_request, pb_entry_response, pb_move_request;
extern const struct pb_message pb_list_dir_request, pb_list_dir_response;
extern const struct pb_message pb_watch_request, pb_watch_response, pb_watcher, pb_watcher_events_response;
