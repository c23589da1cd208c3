// Starts lib/npubench/<own name> of a portable folder through the folder's own loader and libraries, whatever the
// system has (harness/portable.sh). Static: it needs nothing itself.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char self[PATH_MAX];
  static char loader[PATH_MAX + 64], libraries[PATH_MAX + 64], program[PATH_MAX + 64];
  const char* called = (const char*)getauxval(AT_EXECFN);
  if (called == NULL || realpath(called, self) == NULL) {
    fputs("npubench: the launcher cannot find its own file\n", stderr);
    return 4;
  }
  const char* name = strrchr(self, '/');
  const int folder = (int)(name - self);
  snprintf(loader, sizeof loader, "%.*s/lib/ld-linux.so", folder, self);
  snprintf(libraries, sizeof libraries, "%.*s/lib", folder, self);
  snprintf(program, sizeof program, "%.*s/lib/npubench%s", folder, self, name);
  char** words = calloc((size_t)argc + 8, sizeof *words);
  if (words == NULL || setenv("NPUBENCH_PROGRAM", self, 1) != 0) return 4;
  int n = 0;
  words[n++] = loader;
  words[n++] = "--argv0";
  words[n++] = argc > 0 ? argv[0] : self;
  words[n++] = "--inhibit-cache";
  words[n++] = "--library-path";
  words[n++] = libraries;
  words[n++] = program;
  for (int i = 1; i < argc; ++i) words[n++] = argv[i];
  execv(loader, words);
  fprintf(stderr, "npubench: %s cannot be started; is the folder whole?\n", loader);
  return 4;
}
