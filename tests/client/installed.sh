#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a folder, and builds the programs of examples/c outside of the tree with pkg-config alone.
# Usage: installed.sh SOURCE_DIR BUILD_DIR TARGET: TARGET/programs has the programs then, TARGET/lib.txt where the
# library is
set -eu
src=$1 build=$2 target=$3

meson install -C "$build" --no-rebuild --quiet --destdir "$target/root"
pc=$(find "$target/root" -name libatoll.pc)
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$target/root"
mkdir "$target/programs"
cp "$src"/examples/c/*.c "$src"/examples/c/Makefile "$target/programs"
sanitize=
ldd "$(find "$target/root" -name 'libatoll.so.0')" | grep -q libasan && sanitize=-fsanitize=address
make -s -C "$target/programs" CFLAGS="-std=gnu17 -O2 -Wall -Wextra -Werror $sanitize"
c++ -std=c++17 -fsyntax-only -x c++ $(pkg-config --cflags libatoll) - <<'C' || { command -v c++ >/dev/null && exit 1; }
#include <atoll.h>
int main() { return atoll_version() == nullptr; }
C
find "$target/root" -name 'libatoll.so.0' -printf '%h\n' > "$target/lib.txt"

# The mock is not part of libatoll, which loads it when it is asked for, from where it is itself.
pkg-config --exists libatoll-mock
cc -std=gnu17 -Wall -Werror $sanitize $(pkg-config --cflags libatoll) -x c - -o "$target/mocked" \
	$(pkg-config --libs libatoll) <<'C'
#include <atoll.h>
#include <stdio.h>
int main(void)
{
	struct atoll_config cfg = { .size = sizeof cfg, .mock = true, .no_env = true };
	struct atoll_error e;
	struct atoll *a;

	if (atoll_new(&cfg, &a, &e) < 0)
		return fprintf(stderr, "%s\n", e.text), 1;
	int rc = !atoll_is_mock(a);
	atoll_free(a);
	return rc;
}
C
LD_LIBRARY_PATH=$(cat "$target/lib.txt") "$target/mocked"
for page in libatoll.3 atoll_new.3 atoll_run_code.3 atoll_files.3 atoll_commands.3 atoll_git.3; do
	find "$target/root" -path "*/man3/$page*" | grep -q . || {
		echo "no manual page $page was installed" >&2
		exit 1
	}
done
