/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/executions: classes of errors, and counting. */
#include "front/account/executions.h"

#include <string.h>

#include "base/fd.h"
#include "front/account/metrics.h"

static const char *const kinds[EXECUTION_KINDS] = { "code", "command" };
static const char *const outcomes[EXECUTION_OUTCOMES] = { "ok", "error", "interrupted", "cancelled", "refused",
	"failed", "lost", "detached" };
static const char *const classes[ERROR_CLASSES] = {
	"syntax",
	"name",
	"type",
	"value",
	"import",
	"io",
	"memory",
	"timeout",
	"assertion",
	"exit_status",
	"signal",
	"other",
};

/* Names in Python, and in JavaScript and other languages where they differ. */
static const struct {
	const char *name;
	enum execution_class class;
} known[] = {
	{ "SyntaxError", ERROR_SYNTAX },
	{ "IndentationError", ERROR_SYNTAX },
	{ "TabError", ERROR_SYNTAX },
	{ "NameError", ERROR_NAME },
	{ "UnboundLocalError", ERROR_NAME },
	{ "AttributeError", ERROR_NAME },
	{ "ReferenceError", ERROR_NAME },
	{ "TypeError", ERROR_TYPE },
	{ "ValueError", ERROR_VALUE },
	{ "KeyError", ERROR_VALUE },
	{ "IndexError", ERROR_VALUE },
	{ "ZeroDivisionError", ERROR_VALUE },
	{ "OverflowError", ERROR_VALUE },
	{ "ArithmeticError", ERROR_VALUE },
	{ "RangeError", ERROR_VALUE },
	{ "UnicodeDecodeError", ERROR_VALUE },
	{ "UnicodeEncodeError", ERROR_VALUE },
	{ "JSONDecodeError", ERROR_VALUE },
	{ "ImportError", ERROR_IMPORT },
	{ "ModuleNotFoundError", ERROR_IMPORT },
	{ "OSError", ERROR_IO },
	{ "IOError", ERROR_IO },
	{ "FileNotFoundError", ERROR_IO },
	{ "FileExistsError", ERROR_IO },
	{ "PermissionError", ERROR_IO },
	{ "IsADirectoryError", ERROR_IO },
	{ "NotADirectoryError", ERROR_IO },
	{ "ConnectionError", ERROR_IO },
	{ "ConnectionRefusedError", ERROR_IO },
	{ "ConnectionResetError", ERROR_IO },
	{ "BrokenPipeError", ERROR_IO },
	{ "URLError", ERROR_IO },
	{ "HTTPError", ERROR_IO },
	{ "gaierror", ERROR_IO },
	{ "EOFError", ERROR_IO },
	{ "MemoryError", ERROR_MEMORY },
	{ "TimeoutError", ERROR_TIMEOUT },
	{ "TimeoutExpired", ERROR_TIMEOUT },
	{ "AssertionError", ERROR_ASSERTION },
};

enum execution_class execution_class_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_is(name, known[i].name))
			return known[i].class;
	}
	return ERROR_OTHER;
}

enum execution_outcome execution_outcome_of(const char *word)
{
	for (enum execution_outcome o = 0; o < EXECUTION_OUTCOMES; o++) {
		if (strcmp(word, outcomes[o]) == 0)
			return o;
	}
	return EXECUTION_FAILED;
}

void execution_count(struct metrics *m, enum execution_kind k, enum execution_outcome o, uint64_t us)
{
	m->executions[k].n[o]++;
	histogram_add(&m->executions[k].time, us);
}

void execution_error(struct metrics *m, enum execution_class c)
{
	m->execution_errors[c]++;
}

const char *execution_kind_name(enum execution_kind k)
{
	return kinds[k];
}

const char *execution_outcome_name(enum execution_outcome o)
{
	return outcomes[o];
}

const char *execution_class_name(enum execution_class c)
{
	return classes[c];
}
