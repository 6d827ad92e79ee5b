/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_check: checks code without running it. Code is untrusted, so it is parsed inside the sandbox, never here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "client/client.h"
#include "http/json.h"
#include "mcp/tools.h"

#define CHECK_MS 60000

static const char python_check[] =
    "import ast,builtins,importlib.util,json,re,sys\n"
    "text=open(sys.argv[1],encoding='utf-8').read()\n"
    "text=re.sub(r'(?m)^(\\s*)[!%].*$',r'\\1pass',text)\n"
    "out=[]\n"
    "def add(kind,line,message): out.append({'kind':kind,'line':line or 0,'message':message})\n"
    "try: tree=ast.parse(text)\n"
    "except (SyntaxError,ValueError) as e: add('syntax',getattr(e,'lineno',0),str(e))\n"
    "else:\n"
    " known=set(dir(builtins))|{'__name__','__file__','__doc__','get_ipython','display','In','Out','_'}\n"
    " star=False\n"
    " for n in ast.walk(tree):\n"
    "  if isinstance(n,(ast.Import,ast.ImportFrom)):\n"
    "   tops={a.name.split('.')[0] for a in n.names} if isinstance(n,ast.Import) else {n.module.split('.')[0]} if "
    "n.module and not n.level else set()\n"
    "   for t in sorted(tops):\n"
    "    if t not in sys.modules and importlib.util.find_spec(t) is None: add('import',n.lineno,f\"module '{t}' is not "
    "installed\")\n"
    "   for a in n.names: star=star or a.name=='*'; known.add(a.asname or a.name.split('.')[0])\n"
    "  if isinstance(n,ast.Name) and not isinstance(n.ctx,ast.Load): known.add(n.id)\n"
    "  if isinstance(n,ast.arg): known.add(n.arg)\n"
    "  for f in ('name','rest'):\n"
    "   if isinstance(getattr(n,f,None),str): known.add(getattr(n,f))\n"
    "  if isinstance(n,(ast.Global,ast.Nonlocal)): known.update(n.names)\n"
    " for n in ast.walk(tree):\n"
    "  if not star and isinstance(n,ast.Name) and n.id not in known:\n"
    "   add('name',n.lineno,f\"name '{n.id}' is not defined in this code; it must come from an earlier call\"); "
    "known.add(n.id)\n"
    "print(json.dumps(sorted(out,key=lambda p:p['line'])))\n";

static const struct {
	const char *language, *suffix, *command; /* "$1": the file; "$2": python_check */
} checkers[] = {
	{ "python", ".py", "python3 -c \"$2\" \"$1\"" },
	{ "javascript", ".js", "node --check \"$1\"" },
	{ "bash", ".sh", "bash -n \"$1\"" },
};

/* The message of an interpreter that failed to parse the file. */
static json_t *as_problem(const struct atoll_output *o)
{
	const char *text = o->n_err ? o->err : o->out;

	return o->exit.code == 0 ? json_array()
				 : json_pack("[{s:s,s:i,s:o}]", "kind", "syntax", "line", 0, "message",
				       run_string(text, strnlen(text, 2000)));
}

static void show_problems(struct tool_run *r, size_t which, const struct atoll_output *o)
{
	json_t *problems = which == 0 && o->exit.code == 0 ? json_loadb(o->out, o->n_out, 0, NULL) : as_problem(o),
	       *one;
	size_t i;

	json_array_foreach(problems, i, one) run_say(r, "%s, line %lld: %s", json_text(one, "kind"),
	    (long long)json_integer_value(json_object_get(one, "line")), json_text(one, "message"));
	if (json_array_size(problems) == 0)
		run_say(r, "No problems found");
	run_set(r, "ok", json_boolean(json_array_size(problems) == 0));
	run_set(r, "problems", problems ? problems : json_array());
}

static void check_code(struct tool_run *r)
{
	const char *language = run_str(r, "language"), *code = run_str(r, "code");
	char id[17], path[64], line[160];
	struct atoll_output *o = NULL;
	struct atoll_error e = { 0 };
	size_t which = 0;

	while (language && strcmp(checkers[which].language, language) != 0)
		which++; /* ends: the schema allows only these names */
	rand_hex(id, 16);
	id[16] = '\0';
	(void)snprintf(path, sizeof path, "/tmp/.check-%s%s", id, checkers[which].suffix);
	(void)snprintf(line, sizeof line, "%s; s=$?; rm -f \"$1\"; exit $s", checkers[which].command);
	if (!run_sandbox(r))
		return;
	const char *const argv[] = { "/bin/sh", "-c", line, "sh", path, python_check, NULL };

	if (atoll_file_put(r->sandbox->sb, path, NULL, code, strlen(code), &e) < 0 ||
	    atoll_command_run(r->sandbox->sb,
		&(struct atoll_command) { .argv = argv, .timeout_ms = run_timeout_or(r, CHECK_MS) }, NULL, NULL, &o,
		&e) < 0)
		(void)run_failed(r, &e);
	else
		show_problems(r, which, o);
	atoll_output_free(o);
}

const struct tool_handler tools_check[] = {
	{ "check_code", check_code },
	{ NULL },
};
