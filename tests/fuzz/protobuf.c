/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a message of the envd API. What is read can be written and read again to the same, and is a
 * tree that JSON could have brought. The first byte picks the message. */
#include <string.h>

#include "base/fd.h"
#include "fuzz.h"
#include "http/json.h"
#include "http/protobuf.h"
#include "http/schema.h"

static const struct pb_message *const messages[] = {
	&pb_start_request,
	&pb_event_response,
	&pb_list_response,
	&pb_update_request,
	&pb_send_input_request,
	&pb_stream_input_request,
	&pb_send_signal_request,
	&pb_entry_response,
	&pb_list_dir_response,
	&pb_watch_request,
	&pb_watch_response,
	&pb_watcher_events_response,
	&pb_of_process,
	&pb_empty,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf out = BUF_INIT(8 << 20), text = BUF_INIT(64 << 20);
	autojson json_t *tree = NULL, *again = NULL, *json = NULL;
	struct err e = ERR_INIT;

	if (size == 0)
		return 0;
	const struct pb_message *m = messages[data[0] % ARRAY_LEN(messages)];

	if (pb_read(m, (struct str) { (const char *)data + 1, size - 1 }, &tree, &e) < 0) {
		MUST(e.no && e.text[0]);
		return 0;
	}
	pb_put(&out, m, tree);
	MUST(!out.bad);
	MUST(pb_read(m, buf_view(&out), &again, &e) == 0);
	MUST(json_equal(tree, again));
	json_put(&text, tree);
	MUST(!text.bad && json_read_object(buf_view(&text), false, &json, &e) == 0);
	return 0;
}
