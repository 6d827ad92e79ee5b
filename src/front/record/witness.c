/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/witness: which requests are recorded, and as what. */
#include "front/record/witness.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/executions.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/record/audit.h"
#include "front/record/notebook.h"
#include "front/record/records.h"
#include "front/record/scan.h"
#include "front/record/veil.h"
#include "front/util/envd.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/connect.h"
#include "http/gunzip.h"
#include "http/json.h"
#include "http/schema.h"
#include "http/server.h"
#include "http/url.h"
#include "store/notebooks.h"

#define BODY_MAX (8 * 1024 * 1024)      /* of code or a command; of a longer body only the hash is recorded */
#define RPC_MAX (64 * 1024)             /* likewise for any other call */
#define UNPACKED_MAX (1024 * 1024)      /* of a compressed body: unpacking blocks the loop */
#define HELD_MAX (256ull * 1024 * 1024) /* of all requests in progress; beyond that, only hashes are recorded */

enum how { HOW_CODE, HOW_COMMAND, HOW_RPC, HOW_INPUT, HOW_FILE }; /* INPUT: only counted */

static const struct act {
	uint16_t port;
	const char *method, *path; /* a path that ends with '*' matches all paths with that prefix */
	enum how how;
	const char *kind;
	const struct pb_message *message; /* schema of the body in protobuf; NULL: only JSON */
} acts[] = {
	{ PORT_INTERPRETER, "POST", "/execute", HOW_CODE, "code.run", NULL },
	{ PORT_INTERPRETER, "POST", "/contexts", HOW_RPC, "context.create", NULL },
	{ PORT_INTERPRETER, "POST", "/contexts/*", HOW_RPC, "context.restart", NULL },
	{ PORT_INTERPRETER, "DELETE", "/contexts/*", HOW_RPC, "context.remove", NULL },
	{ PORT_ENVD, "POST", "/process.Process/Start", HOW_COMMAND, "command.start", &pb_start_request },
	{ PORT_ENVD, "POST", "/process.Process/Connect", HOW_RPC, "command.connect", &pb_of_process },
	{ PORT_ENVD, "POST", "/process.Process/SendInput", HOW_INPUT, "command.input", NULL },
	{ PORT_ENVD, "POST", "/process.Process/StreamInput", HOW_INPUT, "command.input", NULL },
	{ PORT_ENVD, "POST", "/process.Process/CloseStdin", HOW_RPC, "command.close", &pb_of_process },
	{ PORT_ENVD, "POST", "/process.Process/Update", HOW_RPC, "command.update", &pb_update_request },
	{ PORT_ENVD, "POST", "/process.Process/SendSignal", HOW_RPC, "command.signal", &pb_send_signal_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/MakeDir", HOW_RPC, "file.mkdir", &pb_path_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/Move", HOW_RPC, "file.move", &pb_move_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/Remove", HOW_RPC, "file.remove", &pb_path_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/ListDir", HOW_RPC, "file.list", &pb_list_dir_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/Stat", HOW_RPC, "file.stat", &pb_path_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/WatchDir", HOW_RPC, "file.watch", &pb_watch_request },
	{ PORT_ENVD, "POST", "/filesystem.Filesystem/CreateWatcher", HOW_RPC, "file.watch", &pb_watch_request },
	{ PORT_ENVD, "GET", "/files", HOW_FILE, "file.read", NULL },
	{ PORT_ENVD, "POST", "/files", HOW_FILE, "file.write", NULL },
	{ PORT_ENVD, "POST", "/files/compose", HOW_RPC, "file.compose", NULL },
};

struct witness {
	struct records *rs;
	struct sandbox_facts sb;
	struct veiled *secrets; /* values of the sandbox that are redacted */
	const struct act *act;
	char request[REQUEST_ID_SIZE], session[REQUEST_ID_SIZE];
	struct buf body;
	EVP_MD_CTX *sum; /* hash of the whole body, if it is too long to be stored; NULL: it is stored */
	size_t held;     /* our part of records->witnessed */
	char *coding;    /* content encoding of the body; NULL: none */
	int64_t content_length;
	uint64_t up;
	uint64_t began_us;
	char *path;        /* path of the file, or id of the context; NULL: not known */
	struct buf answer; /* the stored part of the answer */
	bool cut;          /* whether it is incomplete */
	uint64_t began_ms; /* wall clock */
	json_t *code;      /* the body of /execute, for the notebook */
	bool is_proto, enveloped;
	bool begun, over;
	int status;
	union {
		struct cell_scan cell;
		struct process_scan process;
	};
};

static const struct act *find_act(const struct http_req *rq, uint16_t port)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		struct str path = str_of(acts[i].path);
		bool open_end = path.p[path.n - 1] == '*';

		path.n -= open_end;
		if (acts[i].port == port && str_is(rq->method, acts[i].method) &&
		    (open_end ? rq->path.n > path.n && memcmp(rq->path.p, path.p, path.n) == 0
			      : str_eq(rq->path, path)))
			return &acts[i];
	}
	return NULL;
}

struct witness *witness_new(struct records *rs, const struct sandbox_facts *sb, struct veiled *secrets,
    const struct http_req *rq, uint16_t port, const char *request)
{
	const struct act *act = find_act(rq, port);

	/* Executions are counted even if nothing is recorded. */
	if (!act || (!rs->audit && !rs->notebooks && act->how != HOW_CODE && act->how != HOW_COMMAND))
		return NULL;

	struct witness *w = must_alloc(sizeof *w);
	struct str type = http_header_get(&rq->headers, "content-type"), coding;

	w->rs = rs;
	w->sb = *sb; /* the exchange holds a reference to the sandbox */
	w->secrets = secrets;
	w->act = act;
	w->began_us = clock_mono_us();
	w->content_length = rq->content_length;
	w->body = BUF_INIT(act->how == HOW_RPC ? RPC_MAX : BODY_MAX);
	w->answer = BUF_INIT(NOTEBOOK_CELL_MAX);
	w->began_ms = clock_wall_ms();
	(void)str_copy(w->request, sizeof w->request, str_of(request));
	request_session(rq, w->session);
	w->enveloped = str_starts(type, "application/connect+");
	coding = http_header_get(&rq->headers, w->enveloped ? "connect-content-encoding" : "content-encoding");
	if (coding.n && !str_is(coding, "identity"))
		w->coding = must_dup_str(str_is(coding, "gzip") ? coding : STR_LIT("other"));
	w->is_proto = str_starts(type, "application/connect+proto") || str_starts(type, "application/proto");
	if (act->how == HOW_COMMAND)
		w->process.is_proto = w->is_proto; /* the answer has the same encoding */
	if (act->how == HOW_FILE)
		(void)query_get(rq->query, "path", &w->path);
	else if (port == PORT_INTERPRETER && act->how == HOW_RPC && rq->path.n > sizeof "/contexts/" - 1)
		w->path = must_dup_str(
		    (struct str) { rq->path.p + sizeof "/contexts/" - 1, rq->path.n - (sizeof "/contexts/" - 1) });
	return w;
}

/* Adjusts our part of the memory for all witnesses to n bytes. Returns false, without a change, if the limit would
 * be exceeded. */
static bool hold(struct witness *w, size_t n)
{
	_Atomic uint64_t *all = w->rs->all_witnessed ? w->rs->all_witnessed : &w->rs->witnessed;

	if (n > w->held && *all + (n - w->held) > HELD_MAX)
		return false;
	*all += n - w->held; /* wraps around if it is less */
	w->held = n;
	return true;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	(void)hold(w, 0);
	EVP_MD_CTX_free(w->sum);
	buf_done(&w->body);
	buf_done(&w->answer);
	json_decref(w->code);
	free(w->coding);
	free(w->path);
	free(w);
}

/* The answer has the language of the context. */
static bool is_context(const struct witness *w)
{
	return w->rs->notebooks && w->act->port == PORT_INTERPRETER && w->act->how == HOW_RPC && !w->path &&
	    str_is(str_of(w->act->method), "POST");
}

static bool reads_body(void *user)
{
	const struct witness *w = user;

	return w->act->how != HOW_FILE;
}

static bool reads_answer(void *user)
{
	const struct witness *w = user;

	return w->act->how == HOW_CODE || w->act->how == HOW_COMMAND || is_context(w);
}

static uint64_t record(const struct witness *w, const char *kind, json_t *fields)
{
	const struct audit_who who = { w->request, w->sb.team, w->sb.key, w->sb.id, w->session };

	return audit_add(w->rs, kind, &who, fields);
}

static void set_hash(json_t *o, const char *name, struct str text)
{
	char hex[AUDIT_HEX_SIZE];

	audit_sha256(text, hex);
	(void)json_object_set_new(o, name, json_string(hex));
}

/* The message in a body, with or without an envelope; *ret_packed: whether it is compressed. */
static struct str message_of(const struct witness *w, bool *ret_packed)
{
	struct str in = buf_view(&w->body);
	struct envelope en;

	*ret_packed = w->coding && !w->enveloped;
	if (!w->enveloped || envelope_parse(&in, &en) != 1)
		return buf_view(&w->body);
	*ret_packed = en.flags & ENVELOPE_COMPRESSED;
	return en.body;
}

/* The body as a JSON tree, whatever its encoding; NULL if it cannot be decoded. */
static json_t *object_of(const struct witness *w)
{
	autobuf struct buf plain = BUF_INIT(UNPACKED_MAX);
	struct err ignored = ERR_INIT;
	json_t *o = NULL;
	bool packed;
	struct str m = message_of(w, &packed);

	if (packed) {
		if (!w->coding || strcmp(w->coding, "gzip") != 0 || gunzip_all(m, &plain) < 0)
			return NULL;
		m = buf_view(&plain);
	}
	if (!w->is_proto)
		o = json_loadb(m.p ? m.p : "", m.n, 0, NULL);
	else if (w->act->message && pb_read(w->act->message, m, &o, &ignored) < 0)
		o = NULL;
	if (o && json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

/* For a body that was not stored or not understood: its size, and the hash of its bytes. */
static void set_raw(const struct witness *w, json_t *fields)
{
	uint8_t sum[AUDIT_HASH_SIZE];
	char hex[AUDIT_HEX_SIZE];

	if (w->sum) {
		if (EVP_DigestFinal_ex(w->sum, sum, NULL) != 1)
			abort(); /* as in audit_sha256() */
		audit_hex(sum, sizeof sum, hex);
		(void)json_object_set_new(fields, "body_sha256", json_string(hex));
		(void)json_object_set_new(fields, "too_long", json_true());
	} else {
		set_hash(fields, "body_sha256", buf_view(&w->body));
	}
	(void)json_object_set_new(fields, "body_bytes", json_integer((json_int_t)w->up));
	if (w->coding)
		(void)json_object_set_new(fields, "encoding", json_string(w->coding));
}

static void set_word(json_t *o, const char *name, const json_t *v)
{
	const char *z = json_string_value(v);

	if (z && *z && audit_word_valid(str_of(z)))
		(void)json_object_set(o, name, (json_t *)v);
}

/* The parts of the body of /execute that are needed until its end. */
static json_t *cell_of(const json_t *o)
{
	static const char *const names[] = { "code", "context_id", "language" };
	json_t *cell = json_object();

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		json_t *v = json_object_get(o, names[i]);

		if (json_is_string(v))
			(void)json_object_set(cell, names[i], v);
	}
	return cell;
}

/* Secrets given to one call may appear in the output of a later one. */
static void learn(struct witness *w, const json_t *envs)
{
	if (!w->rs->notebooks && w->rs->link->opt.audit_code != AUDIT_CODE_FULL)
		return;
	veiled_learn(w->secrets, w->sb.env_vars);
	veiled_learn(w->secrets, envs);
}

static void keep_text(const struct witness *w, uint64_t seq, struct str text)
{
	autobuf struct buf clean = BUF_INIT(2 * BODY_MAX);
	struct str kept = veiled_text(w->secrets, text, false, &clean);

	if (!clean.bad)
		audit_text(w->rs, seq, w->sb.team, kept);
}

static void begin_code(struct witness *w)
{
	autojson json_t *o = object_of(w);
	const json_t *code = json_object_get(o, "code"), *lang = json_object_get(o, "language"),
		     *ctx = json_object_get(o, "context_id");
	json_t *fields = json_object();
	struct str text = { json_string_value(code), json_string_length(code) };

	if (json_is_string(code)) {
		(void)json_object_set_new(fields, "code_bytes", json_integer((json_int_t)text.n));
		set_hash(fields, "sha256", text);
	} else {
		set_raw(w, fields);
	}
	set_word(fields, "language", lang);
	set_word(fields, "context", ctx);
	learn(w, json_object_get(o, "env_vars"));
	keep_text(w, record(w, "code.run", fields), text);
	if (w->rs->notebooks && json_is_string(code))
		w->code = cell_of(o);
}

/* Appends the program and its arguments, each followed by a NUL. *ret_line: the argument of a shell's -c, or
 * nothing. */
static void put_command(const json_t *process, struct buf *out, struct str *ret_line)
{
	const json_t *args = json_object_get(process, "args");
	const char *cmd = json_string_value(json_object_get(process, "cmd"));
	size_t n = json_array_size(args);

	*ret_line = STR_NULL;
	buf_z(out, cmd ? cmd : "");
	buf_ch(out, '\0');
	for (size_t i = 0; i < n; i++) {
		const char *z = json_string_value(json_array_get(args, i));

		buf_z(out, z ? z : "");
		buf_ch(out, '\0');
		if (z && i > 0 && i + 1 == n && json_string_value(json_array_get(args, i - 1)) &&
		    strcmp(json_string_value(json_array_get(args, i - 1)), "-c") == 0)
			*ret_line = str_of(z);
	}
}

static void begin_command(struct witness *w)
{
	autojson json_t *o = object_of(w);
	autobuf struct buf text = BUF_INIT(BODY_MAX);
	json_t *fields = json_object();
	struct str line = STR_NULL;

	if (o) {
		put_command(json_object_get(o, "process"), &text, &line);
		(void)json_object_set_new(fields, "args",
		    json_integer((json_int_t)json_array_size(json_object_get(json_object_get(o, "process"), "args"))));
		if (json_object_get(o, "pty"))
			(void)json_object_set_new(fields, "pty", json_true());
	} else {
		bool packed;

		buf_str(&text, message_of(w, &packed));
		(void)json_object_set_new(fields, "form", json_string(w->is_proto ? "protobuf" : "unknown"));
		set_raw(w, fields);
	}
	if (!w->sum) {
		(void)json_object_set_new(fields, "bytes", json_integer((json_int_t)text.n));
		set_hash(fields, "sha256", buf_view(&text));
	}
	if (line.p)
		set_hash(fields, "line_sha256", line);

	uint64_t seq = record(w, "command.start", fields);

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\0')
			text.p[i] = ' ';
	}
	learn(w, json_object_get(json_object_get(o, "process"), "envs"));
	if (o || !w->is_proto)
		keep_text(w, seq, buf_view(&text));
}

/* The whole body is known, and its last byte has not been passed on yet. */
static void begin(struct witness *w)
{
	if (w->begun)
		return;
	w->begun = true;
	if (w->act->how == HOW_CODE)
		begin_code(w);
	else if (w->act->how == HOW_COMMAND)
		begin_command(w);
	else
		return; /* recorded when the answer arrives */
	buf_done(&w->body);
	w->body = BUF_INIT(0);
	(void)hold(w, json_string_length(json_object_get(w->code, "code")));
}

/* From here on only the hash of the body is kept. */
static void stop_keeping(struct witness *w)
{
	w->sum = EVP_MD_CTX_new();
	if (!w->sum || EVP_DigestInit_ex2(w->sum, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(w->sum, w->body.n ? w->body.p : "", w->body.n) != 1)
		abort(); /* out of memory, as in must_alloc() */
	buf_done(&w->body);
	w->body = BUF_INIT(0);
	(void)hold(w, 0);
}

static void keep_body(struct witness *w, struct str data)
{
	if (!w->sum && (w->body.n + data.n > w->body.max || !hold(w, w->body.n + data.n)))
		stop_keeping(w);
	if (!w->sum)
		buf_str(&w->body, data);
	else if (EVP_DigestUpdate(w->sum, data.p, data.n) != 1)
		abort();
}

static void on_body(void *user, struct str data)
{
	struct witness *w = user;

	w->up += data.n;
	if (w->act->how == HOW_FILE || w->act->how == HOW_INPUT || w->begun || w->over)
		return;
	keep_body(w, data);
	if (w->content_length >= 0 && w->up >= (uint64_t)w->content_length)
		begin(w);
}

static void on_body_moved(void *user, size_t n)
{
	struct witness *w = user;

	w->up += n;
}

static void on_body_end(void *user)
{
	begin(user);
}

static const char *status_outcome(const struct witness *w, enum pump_end how)
{
	if (how != PUMP_DONE)
		return how == PUMP_LEFT ? "cancelled" : "lost";
	return w->status == 0 || w->status >= 500 ? "failed" : w->status >= 400 ? "refused" : "ok";
}

static void set_list(json_t *fields, const json_t *list)
{
	autobuf struct buf text = BUF_INIT(RPC_MAX);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *z = json_string_value(json_array_get(list, i));

		buf_z(&text, z ? z : "");
		buf_ch(&text, '\0');
	}
	(void)json_object_set_new(fields, "sources", json_integer((json_int_t)json_array_size(list)));
	set_hash(fields, "sources_sha256", buf_view(&text));
}

/* For requests with a single record: the request and its result. */
static void record_once(struct witness *w, int64_t down, enum pump_end how)
{
	autojson json_t *o = w->act->how == HOW_RPC && w->body.n > 0 ? object_of(w) : NULL;
	json_t *fields = json_pack("{s:s,s:i}", "outcome", status_outcome(w, how), "status", w->status);
	const char *path = w->path ? w->path : json_string_value(json_object_get(o, "path"));
	const char *source = json_string_value(json_object_get(o, "source"));
	const char *to = json_string_value(json_object_get(o, "destination"));

	if (json_object_get(o, "source_paths")) { /* compose: the source files are removed and one file is created */
		set_list(fields, json_object_get(o, "source_paths"));
		path = to;
		to = NULL;
	}
	if (w->act->port == PORT_INTERPRETER) {
		set_word(fields, "language", json_object_get(o, "language"));
		if (path && audit_word_valid(str_of(path)))
			(void)json_object_set_new(fields, "context", json_string(path));
	} else if (path || source) {
		set_hash(fields, "path_sha256", str_of(path ? path : source));
		if (to)
			set_hash(fields, "to_sha256", str_of(to));
	}
	set_word(fields, "signal", json_object_get(o, "signal"));
	if (w->sum || (w->body.n > 0 && !o))
		set_raw(w, fields);
	if (w->up)
		(void)json_object_set_new(fields, "bytes", json_integer((json_int_t)w->up));
	else if (down >= 0)
		(void)json_object_set_new(fields, "bytes", json_integer((json_int_t)down));

	uint64_t seq = record(w, w->act->kind, fields);

	if (path || source)
		audit_text(w->rs, seq, w->sb.team, str_of(path ? path : source));
	w->over = true;
	buf_done(&w->body);
	w->body = BUF_INIT(0);
	(void)hold(w, 0);
}

static bool is_stream(const struct witness *w)
{
	return w->act->how == HOW_CODE || w->act->how == HOW_COMMAND;
}

static void on_end(void *user, enum pump_end how);

static void on_answer(void *user, int status, int64_t content_length)
{
	struct witness *w = user;

	if (w->over)
		return;
	w->status = status;
	if (!is_stream(w))
		record_once(w, content_length, PUMP_DONE);
	else if (status != 200)
		on_end(w, PUMP_DONE);
}

/* Whole lines only; what does not fit is left out. */
static void keep_answer(struct witness *w, struct str data)
{
	if (w->cut)
		return;
	if (w->answer.n + data.n <= NOTEBOOK_CELL_MAX && hold(w, w->held + data.n)) {
		buf_str(&w->answer, data);
		return;
	}
	const char *nl = w->answer.n ? memrchr(w->answer.p, '\n', w->answer.n) : NULL;

	w->answer.n = nl ? (size_t)(nl - w->answer.p) + 1 : 0;
	w->cut = true;
}

static void on_data(void *user, struct str data)
{
	struct witness *w = user;

	if (w->rs->notebooks && (w->act->how == HOW_CODE || is_context(w)))
		keep_answer(w, data);
	if (w->over)
		return;
	if (w->act->how == HOW_CODE)
		cell_scan(&w->cell, data);
	else if (w->act->how == HOW_COMMAND)
		process_scan(&w->process, data);
	/* A client that sees this event knows that the execution is over, whatever follows in the answer. So the
	 * record is written before the event is passed on. */
	if ((w->act->how == HOW_CODE && w->cell.ended) || (w->act->how == HOW_COMMAND && w->process.ended))
		on_end(w, PUMP_DONE);
}

static const char *code_outcome(const struct witness *w, enum pump_end how)
{
	if (w->status != 200)
		return status_outcome(w, how);
	if (strcmp(w->cell.error, "KeyboardInterrupt") == 0)
		return "interrupted";
	if (w->cell.error[0])
		return "error";
	return w->cell.ended ? "ok" : how == PUMP_LEFT ? "cancelled" : "lost";
}

static void keep_cell(struct witness *w, const char *outcome)
{
	const json_t *code = json_object_get(w->code, "code");
	const char *context = json_string_value(json_object_get(w->code, "context_id")),
		   *language = json_string_value(json_object_get(w->code, "language"));
	struct cell_row c = { .context = context ? context : "",
		.language = language ? language : "",
		.code = { json_string_value(code), json_string_length(code) },
		.began_ms = w->began_ms,
		.ms = (clock_mono_us() - w->began_us) / 1000,
		.outcome = outcome,
		.cut = w->cut };

	autobuf struct buf clean_code = BUF_INIT(2 * BODY_MAX), clean_output = BUF_INIT(2 * NOTEBOOK_CELL_MAX);

	c.code = veiled_text(w->secrets, c.code, false, &clean_code);
	c.output = veiled_text(w->secrets, buf_view(&w->answer), true, &clean_output);
	if (clean_code.bad || clean_output.bad)
		notebook_missed(w->rs, &w->sb);
	else if (code && w->status == 200) /* another status: it was not run */
		notebook_add(w->rs, &w->sb, &c);
	else if (w->sum && w->status == 200)
		notebook_missed(w->rs, &w->sb);
}

static void count(const struct witness *w, enum execution_kind k, const char *outcome)
{
	execution_count(w->rs->account->metrics, k, execution_outcome_of(outcome), clock_mono_us() - w->began_us);
}

static void end_code(struct witness *w, enum pump_end how)
{
	keep_cell(w, code_outcome(w, how));
	count(w, EXECUTION_CODE, code_outcome(w, how));
	if (w->cell.error[0])
		execution_error(w->rs->account->metrics, execution_class_of(str_of(w->cell.error)));

	json_t *fields = json_pack("{s:s,s:I,s:I,s:I,s:I}", "outcome", code_outcome(w, how), "ms",
	    (json_int_t)((clock_mono_us() - w->began_us) / 1000), "output_bytes", (json_int_t)w->cell.bytes, "results",
	    (json_int_t)w->cell.results, "outputs", (json_int_t)w->cell.outputs);

	if (w->cell.error[0])
		(void)json_object_set_new(fields, "error", json_string(w->cell.error));
	if (w->status != 200)
		(void)json_object_set_new(fields, "status", json_integer(w->status));
	(void)record(w, "code.done", fields);
}

static void end_command(struct witness *w, enum pump_end how)
{
	const char *outcome = w->status != 200 ? status_outcome(w, how)
	    : !w->process.ended                ? (how == PUMP_BROKE ? "lost" : "detached")
	    : w->process.exit_code < 0         ? "signal"
					       : "exited";
	json_t *fields = json_pack("{s:s,s:I,s:I}", "outcome", outcome, "ms",
	    (json_int_t)((clock_mono_us() - w->began_us) / 1000), "output_bytes", (json_int_t)w->process.bytes);
	bool ran = w->status == 200 && w->process.ended;

	count(w, EXECUTION_COMMAND, !ran ? outcome : w->process.exit_code == 0 ? "ok" : "error");
	if (ran && w->process.exit_code != 0)
		execution_error(w->rs->account->metrics, w->process.exit_code < 0 ? ERROR_SIGNAL : ERROR_STATUS);

	if (w->process.ended)
		(void)json_object_set_new(fields, "exit_code", json_integer((json_int_t)w->process.exit_code));
	if (w->status != 200)
		(void)json_object_set_new(fields, "status", json_integer(w->status));
	(void)record(w, "command.end", fields);
}

/* Only the first call counts. */
static void on_end(void *user, enum pump_end how)
{
	struct witness *w = user;

	if (is_context(w) && w->status == 200 && w->answer.n) {
		notebook_context(w->rs, &w->sb, buf_view(&w->answer));
		w->answer.n = 0;
	}
	if (w->over)
		return;
	if (!is_stream(w)) {
		record_once(w, -1, how);
		return;
	}
	w->over = true;
	begin(w); /* the body was never complete, but what arrived was passed on */
	if (w->act->how == HOW_CODE)
		end_code(w, how);
	else
		end_command(w, how);
}

const struct pump_observer_ops witness_ops = {
	.reads_body = reads_body,
	.reads_answer = reads_answer,
	.on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
};

void witness_put_log(const struct witness *w, struct buf *out)
{
	if (!w)
		return;
	buf_fmt(out, " op=%s", w->act->kind);
	if (w->act->how == HOW_CODE)
		buf_fmt(out, " contentLength=%llu resultsCount=%llu error=%s", (unsigned long long)w->up,
		    (unsigned long long)w->cell.results, w->cell.error[0] ? w->cell.error : "none");
	else if (w->act->how == HOW_COMMAND && w->process.ended)
		buf_fmt(out, " contentLength=%llu exit_code=%lld", (unsigned long long)w->up,
		    (long long)w->process.exit_code);
	else
		buf_fmt(out, " contentLength=%llu", (unsigned long long)w->up);
}
