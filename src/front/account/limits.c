/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/limits: one table of fields for parsing and formatting. */
#include "front/account/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "front/account/accounts.h"

#define CPUS_UNIT 0 /* thousandths of a CPU, given as a decimal number */

static const struct field {
	const char *name;
	size_t at;
	bool wide; /* 64 bits */
	uint64_t unit;
	uint64_t min;  /* in units of the API */
	bool optional; /* 0 means no limit */
} fields[] = {
#define F(m) offsetof(struct msg_limits, m), sizeof(((struct msg_limits *)0)->m) == 8
	{ "memoryMB", F(mem_bytes), 1 << 20, 32, false },
	{ "swapMB", F(swap_bytes), 1 << 20, 0, false },
	{ "diskMB", F(disk_bytes), 1 << 20, 16, false },
	{ "cpus", F(cpu_permille), CPUS_UNIT, 50, false },
	{ "processes", F(pids), 1, 16, false },
	{ "openFiles", F(open_files), 1, 64, false },
	{ "ioMBps", F(io_bytes_s), 1 << 20, 1, true },
	{ "iops", F(io_ops_s), 1, 1, true },
	{ "egressMB", F(egress_bytes), 1 << 20, 1, true },
	{ "egressKBps", F(egress_bytes_s), 1 << 10, 1, true },
#undef F
};

static uint64_t get(const struct msg_limits *l, const struct field *f)
{
	const char *at = (const char *)l + f->at;
	uint64_t wide;
	uint32_t narrow;

	if (f->wide)
		memcpy(&wide, at, sizeof wide);
	else
		memcpy(&narrow, at, sizeof narrow);
	return f->wide ? wide : narrow;
}

static void set(struct msg_limits *l, const struct field *f, uint64_t v)
{
	char *at = (char *)l + f->at;
	uint32_t narrow = (uint32_t)v;

	if (f->wide)
		memcpy(at, &v, sizeof v);
	else
		memcpy(at, &narrow, sizeof narrow);
}

static const struct msg_template_limits *named(const struct accounts *a, const char *name)
{
	for (uint32_t i = 0; i < a->n_template_limits; i++) {
		if (strcmp(a->template_limits[i].name, name) == 0)
			return &a->template_limits[i];
	}
	return NULL;
}

void limits_of_name(const struct accounts *a, const char *name, const char *first, struct limits_range *ret)
{
	const struct msg_template_limits *found = named(a, name);

	if (!found && first)
		found = named(a, first);
	*ret = found ? (struct limits_range) { found->defaults, found->maxima }
		     : (struct limits_range) { a->defaults, a->maxima };
}

void limits_narrow(struct limits_range *r, const struct msg_limits *by)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		uint64_t most = get(by, f), max = get(&r->maxima, f), now = get(&r->defaults, f);

		if (!most)
			continue;
		if ((f->optional && !max) || max > most)
			set(&r->maxima, f, most);
		if ((f->optional && !now) || now > most)
			set(&r->defaults, f, most);
	}
}

static int bad(const struct field *f, const char *prefix, uint64_t max, struct err *e)
{
	if (f->unit == CPUS_UNIT)
		return err_set(e, EINVAL, "field '%s%s' must be a number from %g to %g", prefix, f->name,
		    (double)f->min / 1000, (double)max / 1000);
	if (max == UINT64_MAX)
		return err_set(e, EINVAL, "field '%s%s' must be an integer, %llu or more, or null", prefix, f->name,
		    (unsigned long long)f->min);
	return err_set(e, EINVAL, "field '%s%s' must be an integer from %llu to %llu", prefix, f->name,
	    (unsigned long long)f->min, (unsigned long long)(max / f->unit));
}

/* max: UINT64_MAX: none. */
static int read_one(const struct field *f, const json_t *v, const char *prefix, uint64_t max, struct msg_limits *l,
    struct err *e)
{
	if (f->unit == CPUS_UNIT) {
		double d = json_number_value(v) * 1000;

		if (!json_is_number(v) || !(d >= (double)f->min) || !(d <= (double)max))
			return bad(f, prefix, max, e);
		set(l, f, (uint64_t)(d + 0.5));
		return 0;
	}
	json_int_t n = json_integer_value(v);
	uint64_t ceiling = max == UINT64_MAX ? (uint64_t)(f->wide ? INT64_MAX : UINT32_MAX) : max;

	if (!json_is_integer(v) || n < 0 || (uint64_t)n < f->min || (uint64_t)n > ceiling / f->unit)
		return bad(f, prefix, max, e);
	set(l, f, (uint64_t)n * f->unit);
	return 0;
}

static int check_names(const json_t *o, const char *prefix, struct err *e)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		size_t i = 0;

		while (i < ARRAY_LEN(fields) && strcmp(fields[i].name, name) != 0)
			i++;
		if (i == ARRAY_LEN(fields)) /* an unknown field is refused: a misspelt one would set no limit */
			return err_set(e, EINVAL, "field '%s%.40s' is not known", prefix, name);
	}
	return 0;
}

int limits_read(const json_t *o, const char *prefix, const struct limits_range *r, struct msg_limits *l, struct err *e)
{
	struct msg_limits to = *l;

	if (check_names(o, prefix, e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		const json_t *v = json_object_get(o, f->name);
		uint64_t max = get(&r->maxima, f);

		if (!v)
			continue;
		if (json_is_null(v))
			set(&to, f, get(&r->defaults, f));
		else if (read_one(f, v, prefix, f->optional && !max ? UINT64_MAX : max, &to, e) < 0)
			return -e->no;
	}
	*l = to;
	return 0;
}

int limits_read_maxima(const json_t *o, const char *prefix, const struct msg_limits *most, struct msg_limits *l,
    struct err *e)
{
	struct limits_range r = { .maxima = *most };

	return limits_read(o, prefix, &r, l, e); /* null: the default, which here means no maximum */
}

json_t *limits_json(const struct msg_limits *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		uint64_t v = get(l, f);
		json_t *j = f->optional && !v ? json_null()
		    : f->unit == CPUS_UNIT    ? json_real((double)v / 1000)
					      : json_integer((json_int_t)(v / f->unit));

		(void)json_object_set_new(o, f->name, j);
	}
	return o;
}

json_t *limits_maxima_json(const struct msg_limits *l)
{
	json_t *o = limits_json(l);

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!get(l, &fields[i]))
			(void)json_object_del(o, fields[i].name);
	}
	return o;
}

void limits_clip(struct msg_limits *l, const struct msg_limits *most)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		uint64_t v = get(l, f), max = get(most, f);

		if (f->optional ? max && (!v || v > max) : v > max)
			set(l, f, max);
	}
}

bool limits_equal(const struct msg_limits *a, const struct msg_limits *b)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (get(a, &fields[i]) != get(b, &fields[i]))
			return false;
	}
	return true;
}
