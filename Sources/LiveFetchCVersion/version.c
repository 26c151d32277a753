// LIVEFETCH_COMMIT, a definition by Package.swift -> a text. Another commit compiles this file alone.
#include "version.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

#ifndef LIVEFETCH_COMMIT
#define LIVEFETCH_COMMIT
#endif

const char *livefetch_commit(void) { return TEXT(LIVEFETCH_COMMIT); }
