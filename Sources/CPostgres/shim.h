// libpq for Swift.
#pragma once
#include <libpq-fe.h>

// Character constants, which Swift does not import with the type that PQresultErrorField takes.
static const int cpostgres_sqlstate = PG_DIAG_SQLSTATE;
static const int cpostgres_message = PG_DIAG_MESSAGE_PRIMARY;
static const int cpostgres_detail = PG_DIAG_MESSAGE_DETAIL;
static const int cpostgres_hint = PG_DIAG_MESSAGE_HINT;
static const int cpostgres_table = PG_DIAG_TABLE_NAME;
static const int cpostgres_column = PG_DIAG_COLUMN_NAME;
static const int cpostgres_constraint = PG_DIAG_CONSTRAINT_NAME;
static const int cpostgres_function = PG_DIAG_SOURCE_FUNCTION;

static inline void cpostgres_ignore_notice(void *context, const char *message) {
  (void)context;
  (void)message;
}

// libpq prints notices to standard error by default.
static inline void cpostgres_ignore_notices(PGconn *connection) {
  PQsetNoticeProcessor(connection, cpostgres_ignore_notice, NULL);
}
