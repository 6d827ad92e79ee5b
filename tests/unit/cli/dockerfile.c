/* SPDX-License-Identifier: Apache-2.0 */
/* Units of cli/dockerfile and cli/build_plan: what is read out of a Dockerfile, and which steps come of it. */
#include "cli/template/dockerfile.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>

#include "cli/template/build_plan.h"
#include "cli/template/ignore.h"
#include "unit.h"

static struct dockerfile d;
static struct plan p;
static struct err e;

static int parse(const char *text)
{
	dockerfile_done(&d);
	e = ERR_INIT;
	return dockerfile_parse(str_of(text), &d, &e);
}

static void refused(const char *text, const char *why)
{
	int r = parse(text);

	if (r == 0)
		r = plan_make(&d, NULL, NULL, &p, &e);
	assert_int_equal(r, -EINVAL);
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
}

static void lines_go_on_and_comments_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(parse("# a comment\nFROM  base \\\n  # in between\n\n AS one\r\nRUN a && \\  \n\tb\n"), 0);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.v[0].words[0], "base");
	assert_string_equal(d.v[0].words[2], "one");
	assert_string_equal(d.v[1].text, "a && \tb");
	assert_int_equal(d.v[1].line, 6);
}

static void the_escape_character_can_be_chosen(void **state)
{
	(void)state;
	assert_int_equal(parse("# escape=`\nFROM a\nRUN x `\n y \\\n"), 0);
	assert_string_equal(d.v[1].text, "x  y \\");
	refused("# escape=xx\nFROM a\n", "escape character");
	assert_int_equal(parse("# hello\n# escape=`\nFROM a\nRUN x \\\n y\n"), 0); /* not at the top any more */
	assert_string_equal(d.v[1].text, "x  y");
}

static void forms_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(parse("FROM a\nCMD [\"x\", \"y z\"]\nCMD [x]\nENV A=1 B=\"two words\" C=a\\ b\nENV OLD all of "
			       "it\nCOPY --chown=u:g --chmod=600 a b /c/\n"),
	    0);
	assert_true(d.v[1].exec);
	assert_string_equal(d.v[1].words[1], "y z");
	assert_false(d.v[2].exec);
	assert_string_equal(d.v[2].text, "[x]");
	assert_int_equal(d.v[3].n_words, 6);
	assert_string_equal(d.v[3].words[3], "two words");
	assert_string_equal(d.v[3].words[5], "a b");
	assert_string_equal(d.v[4].words[1], "all of it");
	assert_string_equal(df_flag_get(&d.v[5], "chmod"), "600");
	assert_int_equal(d.v[5].n_words, 3);
}

static void heredocs_are_read_to_their_end(void **state)
{
	(void)state;
	assert_int_equal(
	    parse("FROM a\nRUN <<EOF\nline 1\n# no comment\nEOF\nRUN cat <<-'X' <<Y > f\n\tone\n\tX\ntwo\nY\nUSER u\n"),
	    0);
	assert_int_equal(d.n, 4);
	assert_string_equal(d.v[1].docs[0].body, "line 1\n# no comment\n");
	assert_true(d.v[1].docs[0].expand);
	assert_string_equal(d.v[2].docs[0].body, "one\n");
	assert_false(d.v[2].docs[0].expand);
	assert_string_equal(d.v[2].docs[1].body, "two\n");
	refused("FROM a\nRUN <<EOF\nx\n", "is not terminated");
}

static void mistakes_name_their_line(void **state)
{
	(void)state;
	refused("FROM a\nFROBNICATE x\n", "line 2: unknown instruction 'FROBNICATE'");
	refused("FROM a\n\nCOPY x\n", "line 3: COPY needs");
	refused("FROM a\nENV A\n", "line 2: ENV needs");
	refused("FROM a\nRUN\n", "line 2: RUN needs");
	refused("RUN x\n", "before the first FROM");
	refused("", "no FROM");
	refused("FROM scratch\n", "FROM scratch is not supported");
	refused("FROM a b\n", "FROM IMAGE [AS NAME]");
	refused("FROM a\nCOPY a b c\n", "must be a directory");
	refused("FROM a\nRUN --mount=type=secret,id=x y\n", "not supported");
	refused("FROM a\nADD --parents a b\n", "not supported");
	refused("FROM a AS b\nFROM a\nCOPY --from=b --exclude=x a b\n",
	    "line 3: COPY --exclude is not supported with --from");
	refused("FROM a\nCOPY --chmod=u+q a b\n", "line 2: --chmod=u+q is not a valid mode");
	refused("FROM a\nCOPY --checksum=sha256:0 a b\n", "not supported");
	refused("FROM a\nADD --from=b a b\n", "not supported");
	refused("FROM a\nADD --checksum=md5:0 http://h/f b\n", "sha256");
	refused("FROM a\nADD --exclude=x https://h/x.git /d\n", "line 2: --exclude is not supported for a repository");
	refused("FROM a\nADD --exclude=x https://h/x /d\n", "line 2: --exclude is not supported for a URL");
	refused("FROM a\nADD https://h/x.git#--upload-pack=x:y /d\n",
	    "line 2: '--upload-pack=x' is not a valid branch");
	refused("FROM a\nADD git@h:x.git /d\n", "line 2: ADD of a repository over SSH is not supported");
	refused("FROM a\nADD --checksum=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef "
		"https://h/x.git /d\n",
	    "line 2: --checksum is not supported for a repository");
	refused("FROM --other=1 a\n", "not supported");
	refused("FROM a\nONBUILD ONBUILD RUN x\n", "line 2: ONBUILD ONBUILD is not allowed");
	refused("FROM a\nONBUILD FROM x\n", "line 2: ONBUILD FROM is not allowed");
	refused("FROM a\nONBUILD FROB x\n", "line 2: ONBUILD needs an instruction");
	refused("FROM a AS b\nONBUILD COPY a b c\n\nFROM b\n", "line 4: with several sources");
	refused("FROM a\nSHELL /bin/sh\n", "line 2: expected: SHELL");
	refused("FROM a\nSHELL []\n", "expected: SHELL");
	refused("FROM a\nCOPY \"a b\n", "quote");
}

static char *steps(const char *text, const char *target)
{
	static char out[16384];
	char *z;

	assert_int_equal(parse(text), 0);
	plan_done(&p);
	assert_int_equal(plan_make(&d, NULL, target, &p, &e), 0);
	z = json_dumps(p.v[p.want].steps, JSON_COMPACT);
	(void)snprintf(out, sizeof out, "%s", z);
	free(z);
	return out;
}

static void instructions_become_steps(void **state)
{
	(void)state;
	assert_string_equal(steps("FROM a\nRUN [\"a\",\"it's\"]\nUSER u:g\nWORKDIR /w\n", NULL),
	    "[{\"type\":\"USER\",\"args\":[\"root\"]},{\"type\":\"WORKDIR\",\"args\":[\"/"
	    "\"]},{\"type\":\"RUN\",\"args\":[\"'a' 'it'\\\\''s'\"]},"
	    "{\"type\":\"USER\",\"args\":[\"u\"]},{\"type\":\"WORKDIR\",\"args\":[\"/w\"]}]");
	assert_non_null(
	    strstr(steps("ARG V=1\nFROM a:$V\nARG V\nRUN <<E\nx\nE\nADD x.tar.gz /d\nADD https://h/f /g/\n", NULL),
		"[\"export V='1'\\nx\\n\"]"));
	assert_string_equal(p.v[0].image, "a:1");
	const char *url = steps("FROM a\nADD --chown=u --checksum=sha256:"
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef https://h/f /g/\n",
	    NULL);

	assert_true(
	    strstr(url, "t='/g/'; ") && strstr(url, "/'f'; ") && strstr(url, "curl -fsSL -o \\\"$t\\\" 'https://h/f'"));
	assert_non_null(strstr(url, "cdef \\\"$t\\\" | sha256sum -c -"));
	assert_non_null(strstr(url, "chown -R 'u' \\\"$t\\\""));
	assert_non_null(
	    strstr(steps("FROM a\nENV D=/d\nVOLUME $D/x /y\n", NULL), "[\"mkdir -p '/d/x' '/y'\",\"root\"]"));
	assert_non_null(strstr(steps("FROM a\nVOLUME [\"/a b\"]\n", NULL), "[\"mkdir -p '/a b'\",\"root\"]"));
	assert_non_null(strstr(steps("FROM a\nADD --chown=u:g x.tgz /d\n", NULL), "chown -R 'u:g' /.atoll-add/out"));
	assert_non_null(
	    strstr(steps("FROM a\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\nRUN a | b\nRUN [\"c\"]\n", NULL),
		"[\"'/bin/bash' '-o' 'pipefail' '-c' 'a | b'\"]},{\"type\":\"RUN\",\"args\":[\"'c'\"]}"));
	assert_non_null(strstr(steps("FROM a\nRUN <<E\n#!/usr/bin/env python3\nprint(1)\nE\n", NULL),
	    "cat >\\\"$f\\\" <<'ATOLL_END_OF_SCRIPT'\\n#!/usr/bin/env python3\\n"));
}

static void starts_with(const char *text, const char *want)
{
	(void)steps(text, NULL);
	char *z = plan_start_cmd(&p.v[p.want]);

	assert_string_equal(z, want);
	free(z);
}

static void the_start_command_is_entrypoint_and_cmd(void **state)
{
	(void)state;
	starts_with("FROM a\n", "");
	starts_with("FROM a\nENTRYPOINT [\"x\"]\nCMD [\"y\", \"z\"]\n", "'x' 'y' 'z'");
	starts_with("FROM a\nCMD y && z\nENTRYPOINT [\"x\"]\n", "'x' /bin/sh -c 'y && z'");
	starts_with("FROM a\nSHELL [\"/bin/bash\", \"-c\"]\nCMD y\nENTRYPOINT [\"x\"]\n", "'x' '/bin/bash' '-c' 'y'");
	starts_with("FROM a\nCMD y z\nENTRYPOINT x\n", "x"); /* for a shell: CMD is not for it */
	starts_with("FROM a\nSHELL [\"/bin/bash\", \"-c\"]\nCMD it's\n", "'/bin/bash' '-c' 'it'\\''s'");
	starts_with("FROM a\nSHELL [\"/bin/bash\", \"-c\"]\nFROM a\nCMD plain\n", "plain");
	/* Of the stage below, but that a new ENTRYPOINT takes its CMD away. */
	starts_with("FROM a AS b\nENTRYPOINT [\"x\"]\nCMD [\"y\"]\nFROM b\n", "'x' 'y'");
	starts_with("FROM a AS b\nENTRYPOINT [\"x\"]\nCMD [\"y\"]\nFROM b\nCMD [\"z\"]\n", "'x' 'z'");
	starts_with("FROM a AS b\nCMD [\"y\"]\nFROM b\nENTRYPOINT [\"x\"]\n", "'x'");
	starts_with("FROM a AS b\nCMD [\"y\"]\nFROM b\nCMD [\"z\"]\nENTRYPOINT [\"x\"]\n", "'x' 'z'");
}

/* A stage upon another goes on where that one was; only what becomes the template gets a user and a directory to begin
 * with. */
static void a_stage_goes_on_where_the_one_below_was(void **state)
{
	(void)state;
	assert_string_equal(steps("FROM a AS b\nWORKDIR /w\nUSER u\nFROM b AS c\nRUN x\nFROM c\nRUN y\n", NULL),
	    "[{\"type\":\"RUN\",\"args\":[\"y\"]}]");
	assert_int_equal(json_array_size(p.v[1].steps), 1);
	assert_string_equal(steps("FROM a AS b\nWORKDIR /w\nFROM b\n", NULL),
	    "[{\"type\":\"USER\",\"args\":[\"user\"]}]");
	assert_int_equal(json_array_size(p.v[0].steps), 3);
	assert_non_null(
	    strstr(steps("FROM a AS b\nSHELL [\"/bin/bash\", \"-c\"]\nFROM b\nRUN x\n", NULL), "'/bin/bash' '-c' 'x'"));
	assert_non_null(
	    strstr(steps("FROM a AS b\nRUN x\nFROM b\n", "b"), "{\"type\":\"WORKDIR\",\"args\":[\"/home/user\"]}"));
}

/* Files of a mount are sent aside, put in their place by root, and taken away again. */
static void mounts_are_there_for_one_command(void **state)
{
	(void)state;
	const char *z = steps("FROM a AS b\nFROM a\nARG F=go.mod\nUSER u\nRUN --mount=type=bind,source=$F,target=./$F "
			      "--mount=type=cache,target=/c,sharing=locked x\nRUN y\n",
	    NULL);

	assert_non_null(strstr(z,
	    "{\"type\":\"COPY\",\"args\":[\"go.mod\",\"/.atoll-mount/"
	    "0\",\"root\",\"\"]},{\"type\":\"RUN\",\"args\":[\"t=\\\"$PWD\\\"/'go.mod' && "));
	assert_non_null(strstr(z, "mv /.atoll-mount/0 \\\"$t\\\" && t='/c' && if "));
	assert_non_null(strstr(z,
	    "; fi\",\"root\"]},{\"type\":\"RUN\",\"args\":[\"export "
	    "F='go.mod'\\nx\"]},{\"type\":\"RUN\",\"args\":[\"t="));
	assert_non_null(
	    strstr(z, "&& rm -rf /.atoll-mount\",\"root\"]},{\"type\":\"RUN\",\"args\":[\"export F='go.mod'\\ny\"]},"));
	assert_int_equal(p.v[1].copies[0].stage, PLAN_CONTEXT);
	z = steps("FROM a AS b\nFROM a\nRUN --mount=from=b,src=/x,dst=/y --mount=target=. "
		  "--mount=type=tmpfs,target=/tmp/ z\n",
	    NULL);
	assert_int_equal(p.v[1].copies[0].stage, 0);
	assert_string_equal(p.v[1].copies[0].source, "x");
	assert_string_equal(p.v[1].copies[1].source, ".");
	assert_non_null(strstr(z, "t=\\\"$PWD\\\" && "));
	assert_non_null(strstr(z, "t='/tmp' && "));
	/* the last one goes first */
	assert_true(strstr(z, "t='/tmp' && rm -rf") < strstr(z, "t=\\\"$PWD\\\" && rm -rf"));
	assert_int_equal(json_array_size(json_object_get(json_array_get(p.v[1].steps, 5), "args")), 1);
	/* A cache is a directory that is there, and stays. */
	assert_string_equal(
	    steps("FROM a AS b\nFROM b\nUSER u\nWORKDIR /\nRUN --mount=type=cache,target=/c,uid=7 x\n", NULL),
	    "[{\"type\":\"USER\",\"args\":[\"u\"]},{\"type\":\"WORKDIR\",\"args\":[\"/"
	    "\"]},{\"type\":\"RUN\",\"args\":[\"t='/c' && if [ ! -d \\\"$t\\\" ]; then mkdir -p \\\"$t\\\" && "
	    "chmod 755 \\\"$t\\\" && chown 7:0 \\\"$t\\\"; fi\",\"root\"]},{\"type\":\"RUN\",\"args\":[\"x\"]}]");
	refused("FROM a\nRUN --mount=type=cache,target=/c,mode=$(x) y\n", "not a number");
	refused("FROM a\nRUN --mount=type=bind,source=x y\n", "line 2: RUN --mount=type=bind,source=x needs a target");
	refused("FROM a\nRUN --mount=type=bind,from=b,target=/x y\n", "needs a source");
	refused("FROM a\nRUN --mount=type=other,target=/x y\n", "not supported");
	refused("FROM a\nRUN --mount=type=ssh y\n", "not supported");
	refused("FROM a\nRUN --mount=type=secret,id=k y\n", "line 2: RUN --mount=type=secret,id=k is not supported");
	refused("FROM a\nRUN --mount=colour=red,target=/x y\n", "not supported");
	refused("FROM a\nRUN --mount=target y\n", "without a value");
	refused("FROM a\nRUN --network=none y\n", "not supported");
}

/* ONBUILD is for the stages upon this one, and not for those upon them. */
static void triggers_are_for_the_next_stage(void **state)
{
	(void)state;
	assert_null(strstr(steps("FROM a\nONBUILD RUN x\n", NULL), "\"x\""));
	assert_non_null(
	    strstr(steps("FROM a AS b\nONBUILD RUN one\nONBUILD COPY <<E /d/\ntext\nE\nFROM b\nRUN two\n", NULL),
		"[{\"type\":\"RUN\",\"args\":[\"one\"]},{\"type\":\"COPY\",\"args\":[\"E\",\"/d/"
		"\",\"root\",\"\"]},{\"type\":\"RUN\",\"args\":[\"two\"]}"));
	assert_string_equal(p.v[1].copies[0].text, "text\n");
	assert_null(strstr(steps("FROM a AS b\nONBUILD RUN one\nFROM b AS c\nFROM c\nRUN two\n", NULL), "one"));
}

static void what_has_no_effect_is_told(void **state)
{
	(void)state;
	(void)steps("FROM --platform=$BUILDPLATFORM a\nLABEL a=b\nEXPOSE 80\nHEALTHCHECK NONE\nSTOPSIGNAL 9\nFROM "
		    "--platform=plan9/mips a\n",
	    NULL);
	assert_int_equal(json_array_size(p.notices), 3);
	assert_memory_equal(json_string_value(json_array_get(p.notices, 0)), "line 4: HEALTHCHECK", 19);
	assert_memory_equal(json_string_value(json_array_get(p.notices, 1)), "line 5: STOPSIGNAL", 18);
	assert_memory_equal(json_string_value(json_array_get(p.notices, 2)), "line 6: FROM --platform", 23);
}

static void files_can_keep_their_directories_and_be_left_out(void **state)
{
	(void)state;
	assert_non_null(strstr(steps("FROM a\nARG X=*.md\nCOPY --parents --exclude=*.txt --exclude=$X ./x/./y/* "
				     "/d/\nCOPY --parents=false p /q\n",
				   NULL),
	    "{\"type\":\"COPY\",\"args\":[\".\",\"/d/\",\"root\",\"\"]},{\"type\":\"COPY\",\"args\":[\"p\",\"/"
	    "q\",\"root\",\"\"]}"));
	assert_string_equal(p.v[0].copies[0].source, "x/./y/*");
	assert_string_equal(p.v[0].copies[0].exclude, "*.txt\n*.md\n");
	assert_true(p.v[0].copies[0].parents && !p.v[0].copies[1].parents);
	assert_null(p.v[0].copies[1].exclude);
	assert_non_null(strstr(steps("FROM a\nCOPY --chmod=u=rwX,go=rX --link a b\n", NULL),
	    "[\"a\",\"b\",\"root\",\"u=rwX,go=rX\"]"));
	const char *git = steps("FROM a\nADD --keep-git-dir https://h/x.git#v1:docs /d\n", NULL);

	assert_non_null(
	    strstr(git, "git remote add origin 'https://h/x.git' && if git fetch -q --depth 1 origin 'v1'"));
	assert_non_null(strstr(git, "cp -a -- \\\"$r\\\"/'docs'/. '/d'"));
	assert_null(strstr(git, "-name .git"));
	assert_non_null(strstr(steps("FROM a\nADD --keep-git-dir=false git://h/x /d\n", NULL),
	    "-name .git -prune -exec rm -rf {} +)"));
	assert_null(strstr(steps("FROM a\nADD https://h/x.tar /d\n", NULL), "tar -xf"));
	assert_non_null(strstr(steps("FROM a\nADD --unpack https://h/x.tar /d\n", NULL), "tar -xf"));
	assert_non_null(strstr(steps("FROM a\nADD https://h/x/f.bin?a=/b#c/d /d/\n", NULL), "/'f.bin'; "));
	(void)steps("FROM a\nADD --exclude=*.tar *.tar /d/\n", NULL);
	assert_string_equal(p.v[0].copies[0].exclude, "*.tar\n");
	assert_non_null(strstr(steps("FROM a\nADD --unpack=false x.tar /d/\n", NULL),
	    "{\"type\":\"COPY\",\"args\":[\"x.tar\",\"/d/\""));
}

/* As Docker: an ARG is known to what stands behind it in its stage, and is not in the template. */
static void arguments_do_not_stay(void **state)
{
	(void)state;
	const char *z = steps("FROM a\nARG A=one\nARG B=$A-two\nENV C=$B/$PATH D=\\$A\nRUN x\nWORKDIR /w/$A\nUSER "
			      "${B:-u}\nCOPY --chown=$A $A /d/$A/$HOME/\n",
	    NULL);

	assert_non_null(strstr(z, "[\"C\",\"one-two/$PATH\",\"D\",\"\\\\$A\"]"));
	assert_non_null(strstr(z, "[\"export A='one' B='one-two'\\nx\"]"));
	assert_non_null(strstr(z, "[\"/w/one\"]"));
	assert_non_null(strstr(z, "[\"one-two\"]"));
	assert_non_null(strstr(z, "[\"one\",\"/d/one/$HOME/\",\"one\",\"\"]"));
	assert_null(strstr(z, "[\"A\""));
	assert_non_null(strstr(steps("FROM a\nENV A=$X\"y\"'$z' B=\"$X\"'y' C=\"$X y\"\n", NULL),
	    "[\"A\",\"${X}y\\\\$z\",\"B\",\"${X}y\",\"C\",\"$X y\"]"));
	assert_non_null(strstr(steps("FROM a\nUSER ${U:-me}:${G:-us}\n", NULL), "[\"${U:-me}\"]"));
	assert_null(strstr(steps("FROM a AS b\nARG A=1\nFROM a\nRUN x\n", NULL), "export"));
	/* but to stages upon it */
	assert_non_null(strstr(steps("FROM a AS b\nARG A=1\nFROM b\nRUN x\n", NULL), "export A='1'\\nx"));
	assert_non_null(strstr(steps("FROM a\nARG A=1\nENV A=2\nRUN x\n", NULL), "[\"x\"]")); /* ENV is stronger */
	/* bash has an UID of its own, and would not take another. */
	assert_non_null(strstr(steps("FROM a\nARG UID=7\nARG A=1\nRUN x $UID\n", NULL),
	    "[\"env UID='7' A='1' /bin/sh -c 'x $UID'\"]"));
	assert_non_null(strstr(steps("FROM a\nENV UID=7\nRUN x\n", NULL), "[\"env UID='7' /bin/sh -c 'x'\"]"));
	assert_non_null(strstr(steps("FROM a\nARG UID=7\nSHELL [\"s\"]\nRUN x\n", NULL), "[\"env UID='7' 's' 'x'\"]"));
	assert_non_null(strstr(steps("FROM a\nARG UID=7\nRUN [\"x\"]\n", NULL), "[\"env UID='7' 'x'\"]"));
	assert_non_null(strstr(steps("FROM a\nARG TARGETOS\nRUN x\n", NULL), "export TARGETOS='linux'"));
	(void)steps("FROM --platform=$BUILDPLATFORM a:$TARGETOS\n", NULL);
	assert_string_equal(p.v[0].image, "a:linux");
	(void)steps("FROM a\nARG A=1\nENV B=2\nCOPY <<X <<'Y' /d/\n$A $B $C\nX\n$A\nY\n", NULL);
	assert_string_equal(p.v[0].copies[0].text, "1 2 \n");
	assert_string_equal(p.v[0].copies[1].text, "$A\n");
	(void)steps("FROM a\nCOPY <<A <<BA /d/\none\nA\ntwo\nBA\n", NULL);
	assert_string_equal(p.v[0].copies[1].source, "BA");
	assert_string_equal(p.v[0].copies[1].text, "two\n");
}

/* "the same value for each variable throughout the entire instruction" */
static void what_an_instruction_sets_is_known_to_the_next_one(void **state)
{
	(void)state;
	const char *z = steps("FROM a\nENV abc=hello\nENV abc=bye def=$abc\nCOPY x /$abc/$def/\nARG P=1\nARG P=2 "
			      "Q=$P\nRUN y\nVOLUME /$abc\n",
	    NULL);

	/* the server does the same, see tests/unit/front/build_spec.c */
	assert_non_null(strstr(z, "[\"abc\",\"bye\",\"def\",\"$abc\"]"));
	assert_non_null(strstr(z, "[\"export P='2' Q='1'\\ny\"]"));
	assert_non_null(strstr(z, "mkdir -p '/bye'"));
	assert_non_null(strstr(steps("FROM a\nENV A=1\nENV A=2 B=$A\nVOLUME /$A/$B\n", NULL), "mkdir -p '/2/1'"));
	(void)steps("ARG A=x B=$A-y\nFROM i:$B\n", NULL); /* but before the first FROM */
	assert_string_equal(p.v[0].image, "i:x-y");
}

static const char *value(void *user, const char *name)
{
	(void)user;
	return strcmp(name, "A") == 0 ? "a" : strcmp(name, "E") == 0 ? "" : NULL;
}

static void variables_have_alternatives(void **state)
{
	static const struct {
		const char *text, *all, *some;
	} cases[] = {
		{ "$A${A}$N", "aa", "aa$N" },
		{ "${N:-x}${A:-x}${E:-x}${E-x}", "xax", "${N:-x}ax" },
		{ "${A:+y}${E:+y}${E+y}${N+y}", "yy", "yy${N+y}" },
		{ "${N:-${A}b}", "ab", "${N:-ab}" },
		{ "${N:-$A}", "a", "${N:-a}" },
		{ "\\$A", "$A", "\\$A" },
		{ "${A", "${A", "${A" },
		{ "${A?x}", "${A?x}", "${A?x}" },
		{ "$", "$", "$" },
		{ "${}", "${}", "${}" },
		{ "$1", "$1", "$1" },
		{ "${N:-}", "", "${N:-}" },
		{ "${A:-}", "a", "a" },
		{ "${A:}", "${A:}", "${A:}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		autobuf struct buf all = BUF_INIT(100), some = BUF_INIT(100);

		df_expand(cases[i].text, value, NULL, &all);
		df_expand_some(cases[i].text, value, NULL, &some);
		assert_string_equal(all.n ? buf_cstr(&all) : "", cases[i].all);
		assert_string_equal(some.n ? buf_cstr(&some) : "", cases[i].some);
	}
}

static void stages_are_needed_or_not(void **state)
{
	(void)state;
	(void)steps("FROM a AS one\nFROM b AS two\nFROM one AS three\nFROM c\nCOPY --from=three /x /y\nCOPY "
		    "--from=img:1 /x /y\n",
	    NULL);
	assert_int_equal(p.n, 5);
	assert_true(p.v[0].needed && !p.v[1].needed && p.v[2].needed && p.v[3].needed && p.v[4].needed);
	assert_int_equal(p.want, 3);
	assert_int_equal(p.v[3].copies[0].stage, 2);
	assert_int_equal(p.v[3].copies[1].stage, 4);
	assert_string_equal(p.v[4].image, "img:1");
	(void)steps("FROM a AS one\nFROM b AS two\n", "ONE");
	assert_int_equal(p.want, 0);
	assert_int_equal(parse("FROM a\n"), 0);
	plan_done(&p);
	assert_int_equal(plan_make(&d, NULL, "none", &p, &e), -EINVAL);
}

static void patterns_match_as_in_dockerignore(void **state)
{
	static const struct {
		const char *rules, *path;
		bool ignored;
	} cases[] = {
		{ "*.log", "a.log", true },
		{ "*.log", "d/a.log", false },
		{ "**/*.log", "d/e/a.log", true },
		{ "**/*.log", "a.log", true },
		{ "node_modules/", "node_modules/x/y", true },
		{ "/a", "a", true },
		{ "a/**", "a/b", true },
		{ "d/?.[a-c]", "d/x.b", true },
		{ "d/?.[^a-c]", "d/x.b", false },
		{ "*\n!keep", "keep", false },
		{ "*\n!keep", "other", true },
		{ "*\n!d/keep\n", "d/keep", false },
		{ "# x\n\n", "x", false },
		{ "a\\*b", "a*b", true },
		{ "[", "x", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ignore g;

		assert_int_equal(ignore_parse(str_of(cases[i].rules), &g), 0);
		if (ignore_has(&g, cases[i].path) != cases[i].ignored)
			fail_msg("'%s' and '%s'", cases[i].rules, cases[i].path);
		ignore_done(&g);
	}
	assert_false(ignore_match("*a*a*a*a*a*a*a*a*a*a*a*a*b",
	    STR_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
}

static int tear_down(void **state)
{
	(void)state;
	dockerfile_done(&d);
	plan_done(&p);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_go_on_and_comments_do_not_count),
		cmocka_unit_test(the_escape_character_can_be_chosen),
		cmocka_unit_test(forms_are_told_apart),
		cmocka_unit_test(heredocs_are_read_to_their_end),
		cmocka_unit_test(mistakes_name_their_line),
		cmocka_unit_test(instructions_become_steps),
		cmocka_unit_test(the_start_command_is_entrypoint_and_cmd),
		cmocka_unit_test(a_stage_goes_on_where_the_one_below_was),
		cmocka_unit_test(mounts_are_there_for_one_command),
		cmocka_unit_test(triggers_are_for_the_next_stage),
		cmocka_unit_test(what_has_no_effect_is_told),
		cmocka_unit_test(files_can_keep_their_directories_and_be_left_out),
		cmocka_unit_test(arguments_do_not_stay),
		cmocka_unit_test(what_an_instruction_sets_is_known_to_the_next_one),
		cmocka_unit_test(variables_have_alternatives),
		cmocka_unit_test(stages_are_needed_or_not),
		cmocka_unit_test(patterns_match_as_in_dockerignore),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
