/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/executions: counts code executions and commands in sandboxes by outcome, error class and duration. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct histogram;
struct metrics;

enum execution_kind { EXECUTION_CODE, EXECUTION_COMMAND, EXECUTION_KINDS };
enum execution_outcome {
	EXECUTION_OK,
	EXECUTION_ERROR,
	EXECUTION_INTERRUPTED,
	EXECUTION_CANCELLED,
	EXECUTION_REFUSED,
	EXECUTION_FAILED,
	EXECUTION_LOST,
	EXECUTION_DETACHED,
	EXECUTION_OUTCOMES,
};
/* The code in a sandbox chooses the names of its errors: only these become labels. */
enum execution_class {
	ERROR_SYNTAX,
	ERROR_NAME,
	ERROR_TYPE,
	ERROR_VALUE,
	ERROR_IMPORT,
	ERROR_IO,
	ERROR_MEMORY,
	ERROR_TIMEOUT,
	ERROR_ASSERTION,
	ERROR_STATUS,
	ERROR_SIGNAL,
	ERROR_OTHER,
	ERROR_CLASSES,
};

enum execution_class execution_class_of(struct str name);      /* for the name of an exception, in any language */
enum execution_outcome execution_outcome_of(const char *word); /* for an outcome as in the audit trail */

void execution_count(struct metrics *m, enum execution_kind k, enum execution_outcome o, uint64_t us);
void execution_error(struct metrics *m, enum execution_class c);

const char *execution_kind_name(enum execution_kind k);
const char *execution_outcome_name(enum execution_outcome o);
const char *execution_class_name(enum execution_class c);
