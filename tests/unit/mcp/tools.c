/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/tools: the descriptions in src/mcp/tools are complete, and use only what mcp/schema checks. */
#include <stdint.h>

#include <ctype.h>
#include <string.h>

#include "client/client.h"
#include "http/json.h"
#include "mcp/schema.h"
#include "mcp/tools.h"
#include "unit.h"

static const char *const types[] = { "string", "integer", "number", "boolean", "array", "object", "null" };

static bool is_type(const json_t *v)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (json_is_string(v) && strcmp(json_string_value(v), types[i]) == 0)
			return true;
	}
	return false;
}

static bool is_limit(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

static const char *schema_wrong(const json_t *s);

static const char *type_wrong(const json_t *type)
{
	json_t *one;
	size_t i;

	if (!json_is_array(type))
		return is_type(type) ? NULL : "type";
	json_array_foreach((json_t *)type, i, one)
	{
		if (!is_type(one))
			return "type";
	}
	return json_array_size(type) == 2 ? NULL : "type: mcp/schema knows one or two";
}

static const char *enum_wrong(const json_t *s, const json_t *names)
{
	const json_t *otherwise = json_object_get(s, "default");
	bool found = !otherwise;
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)names, i, one)
	{
		if (!json_is_string(one))
			return "enum";
		found = found || json_equal(one, otherwise);
	}
	return json_array_size(names) > 0 && found ? NULL : "default is not in enum";
}

static const char *properties_wrong(const json_t *properties)
{
	const char *name, *wrong;
	json_t *one;

	if (!json_is_object(properties))
		return "properties";
	json_object_foreach((json_t *)properties, name, one)
	{
		if ((wrong = schema_wrong(one)))
			return wrong;
	}
	return NULL;
}

static const char *required_wrong(const json_t *s, const json_t *names)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)names, i, one)
	{
		const char *name = json_string_value(one);

		if (!name || !json_object_get(json_object_get(s, "properties"), name))
			return "required";
	}
	return json_is_array(names) ? NULL : "required";
}

static const char *keyword_wrong(const json_t *s, const char *word, const json_t *v)
{
	static const char *const limits[] = { "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum" };

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		if (strcmp(word, limits[i]) == 0)
			return is_limit(v) ? NULL : word;
	}
	if (strcmp(word, "type") == 0)
		return type_wrong(v);
	if (strcmp(word, "description") == 0)
		return json_string_length(v) > 0 ? NULL : word;
	if (strcmp(word, "enum") == 0)
		return enum_wrong(s, v);
	if (strcmp(word, "properties") == 0)
		return properties_wrong(v);
	if (strcmp(word, "required") == 0)
		return required_wrong(s, v);
	if (strcmp(word, "additionalProperties") == 0)
		return json_is_boolean(v) ? NULL : schema_wrong(v);
	if (strcmp(word, "items") == 0)
		return schema_wrong(v);
	if (strcmp(word, "default") == 0) {
		struct err e = ERR_INIT;

		return schema_check(s, v, &e) == 0 ? NULL : word;
	}
	return word;
}

/* NULL: it is a schema of the subset that mcp/schema.h names. */
static const char *schema_wrong(const json_t *s)
{
	const char *word, *wrong;
	json_t *v;

	if (!json_is_object(s) || !json_object_get(s, "type"))
		return "no type";
	json_object_foreach((json_t *)s, word, v)
	{
		if ((wrong = keyword_wrong(s, word, v)))
			return wrong;
	}
	return NULL;
}

static void each_schema_is_in_the_subset(void **state)
{
	json_t *tool;
	size_t i;

	(void)state;
	json_array_foreach(tools_list("mcp"), i, tool)
	{
		const json_t *out = json_object_get(tool, "outputSchema");
		const char *in_wrong = schema_wrong(json_object_get(tool, "inputSchema"));
		const char *out_wrong = out ? schema_wrong(out) : NULL;

		if (in_wrong || out_wrong)
			fail_msg("tool '%s': %s", json_text(tool, "name"), in_wrong ? in_wrong : out_wrong);
	}
	assert_true(i > 30);
}

static void a_schema_outside_the_subset_is_noticed(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"type\":\"text\"}",
		"{\"type\":\"object\",\"properties\":[]}",
		"{\"type\":\"object\",\"properties\":{},\"required\":[\"a\"]}",
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"x\"}}}",
		"{\"type\":\"array\",\"items\":{\"$ref\":\"string\"}}",
		"{\"type\":\"string\",\"maxLength\":\"3\"}",
		"{\"type\":\"string\",\"enum\":[\"a\"],\"default\":\"b\"}",
		"{\"type\":\"integer\",\"maximum\":3,\"default\":4}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		autojson json_t *s = json_loads(bad[i], 0, NULL);

		assert_non_null(s);
		assert_non_null(schema_wrong(s));
	}
}

/* Without a description a model guesses. What is not declared is refused, so a typo is reported. */
static void each_argument_is_described(void **state)
{
	json_t *tool, *argument;
	const char *name;
	size_t i;

	(void)state;
	json_array_foreach(tools_list("mcp"), i, tool)
	{
		json_t *in = json_object_get(tool, "inputSchema");

		assert_true(json_is_false(json_object_get(in, "additionalProperties")));
		json_object_foreach(json_object_get(in, "properties"), name, argument)
		{
			if (!json_object_get(argument, "description"))
				fail_msg("tool '%s': argument '%s' has no description", json_text(tool, "name"), name);
		}
	}
}

/* OpenAI and Anthropic accept [A-Za-z0-9_-]{1,64}. */
static void each_tool_has_a_name_a_title_and_a_sentence(void **state)
{
	json_t *tool;
	size_t i;

	(void)state;
	json_array_foreach(tools_list("mcp"), i, tool)
	{
		const char *name = json_text(tool, "name"), *about = json_text(tool, "description");

		assert_true(strlen(name) > 0 && strlen(name) <= 64);
		for (const char *p = name; *p; p++)
			assert_true(isalnum((unsigned char)*p) || *p == '_' || *p == '-');
		assert_true(json_text(tool, "title")[0] != '\0');
		assert_true(isupper((unsigned char)about[0]) && about[strlen(about) - 1] == '.');
	}
}

/* tools_open() has joined them: it refuses a tool without a handler, and a handler without a tool. */
static void each_tool_has_its_handler(void **state)
{
	json_t *one;
	size_t i;

	(void)state;
	json_array_foreach(tools_list("mcp"), i, one)
	{
		const struct tool *t = tool_find(json_text(one, "name"));
		const json_t *hints = json_object_get(one, "annotations");

		assert_non_null(t);
		assert_non_null(t->run);
		assert_int_equal(!!(t->hints & TOOL_READS), json_is_true(json_object_get(hints, "readOnlyHint")));
		assert_int_equal(!!(t->hints & TOOL_DESTROYS), json_is_true(json_object_get(hints, "destructiveHint")));
		assert_false((t->hints & TOOL_READS) && (t->hints & TOOL_DESTROYS));
	}
}

static void each_format_has_the_same_texts_and_schemas(void **state)
{
	json_t *tool;
	size_t i;

	(void)state;
	json_array_foreach(tools_list("mcp"), i, tool)
	{
		const json_t *openai = json_object_get(json_array_get(tools_list("openai"), i), "function");
		const json_t *anthropic = json_array_get(tools_list("anthropic"), i);
		const json_t *in = json_object_get(tool, "inputSchema");

		assert_string_equal(json_text(openai, "name"), json_text(tool, "name"));
		assert_string_equal(json_text(anthropic, "name"), json_text(tool, "name"));
		assert_string_equal(json_text(openai, "description"), json_text(tool, "description"));
		assert_string_equal(json_text(anthropic, "description"), json_text(tool, "description"));
		assert_true(json_equal(json_object_get(openai, "parameters"), in));
		assert_true(json_equal(json_object_get(anthropic, "input_schema"), in));
	}
}

static int open_tools(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	return tools_open(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_schema_is_in_the_subset),
		cmocka_unit_test(a_schema_outside_the_subset_is_noticed),
		cmocka_unit_test(each_argument_is_described),
		cmocka_unit_test(each_tool_has_a_name_a_title_and_a_sentence),
		cmocka_unit_test(each_tool_has_its_handler),
		cmocka_unit_test(each_format_has_the_same_texts_and_schemas),
	};

	return cmocka_run_group_tests(tests, open_tools, NULL);
}
