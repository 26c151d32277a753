// The commit of the build, for `--version`.
#ifndef LIVEFETCH_VERSION_H
#define LIVEFETCH_VERSION_H

/// The commit that the program was built from; empty if it is unknown.
const char *livefetch_commit(void);

#endif
