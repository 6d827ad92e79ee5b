/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: every system call number of every ABI, each in a process of its own with arguments that mean nothing (-1), and
 * what came of it: "allowed" (the kernel got to see it), "EPERM", "ENOSYS" or "killed". The classes are committed as a
 * table; a call that the table refuses and that is served is a hole, any other difference means that the table wants to
 * be made again, by hand. */
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "attempt.h"

#define STUCK_MS 200 /* in a call that waits */
#define X32 0x40000000

enum class { ALLOWED, REFUSED, ABSENT, KILLED, CLASSES };

static const char *const class_name[CLASSES] = { "allowed", "EPERM", "ENOSYS", "killed" };

struct abi {
	const char *name;
	int last; /* number */
	long base;
};

static const struct abi abis[] = { { "x86_64", 600, 0 }, { "i386", 600, 0 }, { "x32", 600, X32 } };

static volatile struct {
	int done;
	long r;
} *answer;

static long call_64(long nr)
{
	long r, rest = -1;
	register long r10 __asm__("r10") = rest;
	register long r8 __asm__("r8") = rest;
	register long r9 __asm__("r9") = rest;
	static int word;

	if (nr == SYS_futex) /* its -1 is an operation that the kernel answers with ENOSYS itself */
		return syscall(SYS_futex, &word, FUTEX_WAKE, 0, NULL, NULL, 0) < 0 ? -errno : 0;
	__asm__ volatile("syscall"
	    : "=a"(r)
	    : "a"(nr), "D"(rest), "S"(rest), "d"(rest), "r"(r10), "r"(r8), "r"(r9)
	    : "rcx", "r11", "memory");
	return r;
}

static long call_32(long nr)
{
	int r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"((int)nr), "b"(-1), "c"(-1), "d"(-1), "S"(-1), "D"(-1) : "memory");
	return r;
}

static enum class try_one(const struct abi *a, int nr) {
	int status = 0;

	answer->done = 0; pid_t pid = fork();

	if (pid == 0) { struct itimerval t = { .it_value = { .tv_usec = STUCK_MS * 1000 } };

	    (void)setpgid(0, 0); (void)setitimer(ITIMER_REAL, &t, NULL);
	    long r = strcmp(a->name, "i386") == 0 ? call_32(nr) : call_64(a->base + nr);

	    answer->r = r; answer->done = 1; _exit(0); }
if (pid < 0) return CLASSES;
while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
	;
if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
	return KILLED;
if (!answer->done)
	return ALLOWED; /* it ended the process, or waits */
return answer->r == -EPERM ? REFUSED : answer->r == -ENOSYS ? ABSENT : ALLOWED;
}

/* "ABI NUMBER NAME CLASS" per line; what is not in it is ENOSYS. */
static int read_table(const char *path, const struct abi *a, enum class *want)
{
	char line[200], abi[16], name[64], class[16];
	FILE *f = fopen(path, "re");
	int nr, n = 0;

	if (!f)
		return -errno;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%15s %d %63s %15s", abi, &nr, name, class) != 4 || strcmp(abi, a->name) != 0 ||
		    nr < 0 || nr > a->last)
			continue;
		for (int c = 0; c < CLASSES; c++) {
			if (strcmp(class, class_name[c]) == 0) {
				want[nr] = (enum class)c;
				n++;
			}
		}
	}
	(void)fclose(f);
	return n;
}

static void sweep_compare(const struct abi *a, const char *table)
{
	static enum class want[4096];
	char name[40], detail[200] = "";
	int wrong = 0, open = 0, counts[CLASSES + 1] = { 0 };

	(void)snprintf(name, sizeof name, "syscalls/%s", a->name);
	for (int i = 0; i <= a->last; i++)
		want[i] = ABSENT;
	if (read_table(table, a, want) <= 0) {
		report("unclear", name, "every system call is in the table, and answered as it says", "no table");
		return;
	}
	for (int nr = 0; nr <= a->last; nr++) {
		enum class got = try_one(a, nr);

		counts[got]++;
		/* An older kernel may not have it; ENOSYS where EPERM is written refuses as well; the table is of root,
		 * who may more. */
		if (got == want[nr] || got == ABSENT || (got == REFUSED && want[nr] == ALLOWED && geteuid() != 0))
			continue;
		size_t used = strlen(detail);

		(void)snprintf(detail + used, sizeof detail - used, "%s%d: %s, not %s", used ? "; " : "", nr,
		    got == CLASSES ? "?" : class_name[got], class_name[want[nr]]);
		wrong++;
		open += got == ALLOWED;
	}
	if (!wrong)
		(void)snprintf(detail, sizeof detail, "%d numbers: %d allowed, %d EPERM, %d ENOSYS, %d killed",
		    a->last + 1, counts[ALLOWED], counts[REFUSED], counts[ABSENT], counts[KILLED]);
	report(open     ? "BROKEN"
		: wrong ? "unclear"
			: "held",
	    name, "every system call is in the table, and answered as it says", detail);
}

int sweep_run(const char *table, bool print)
{
	answer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (answer == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < COUNT(abis); i++) {
		if (!print) {
			sweep_compare(&abis[i], table);
			continue;
		}
		for (int nr = 0; nr <= abis[i].last; nr++) {
			enum class got = try_one(&abis[i], nr);

			(void)printf("%s %d %s\n", abis[i].name, nr, got == CLASSES ? "?" : class_name[got]);
		}
	}
	(void)printf("end\t%zu\n", COUNT(abis));
	return 0;
}
