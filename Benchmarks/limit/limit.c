// Lower bound for LiveFetch: the same HTTP and SQL work without predicates, caching, history and
// validation. A bare libmicrohttpd server over SQLite writes the rows to a buffer by hand.
//   limit FILE WORKERS      prints its port, serves until a signal ends it
//   limit-postgres CONNECTION WORKERS    the same over PostgreSQL by libpq, one connection per worker
//   /fetch?min=N    the 50 largest cities with population >= N, as LiveFetch answers it
//   /static?size=N  a prepared body of N bytes      /empty  a prepared 304
//   /hold?size=N    waits until /resume, then responds with N bytes; 503 if too many wait
//   /resume         responds to all waiting requests; its own body is their number

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#ifdef POSTGRES
#include <endian.h>
#include <libpq-fe.h>
#else
#include <sqlite3.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { maximumHeld = 20000 };

static const char *path;
static char filler[1 << 20];
static struct MHD_Response *empty, *sized;
static size_t sizedBytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // guards the next two, and `sized`
static struct MHD_Connection *held[maximumHeld];
static int heldCount;

static char *putText(char *out, const char *text) {
  *out++ = '"';
  for (; *text; text++) {
    unsigned char byte = *text;
    if (byte < 0x20) {
      out += sprintf(out, "\\u%04x", byte);
    } else {
      if (byte == '"' || byte == '\\') *out++ = '\\';
      *out++ = byte;
    }
  }
  *out++ = '"';
  return out;
}

static char *putInteger(char *out, int64_t value) {
  char digits[20];
  int count = 0;
  if (value < 0) { *out++ = '-'; value = -value; }
  do { digits[count++] = '0' + value % 10; value /= 10; } while (value);
  while (count) *out++ = digits[--count];
  return out;
}

// Up to five decimals by hand, which is all that coordinates have; others in full.
static char *putReal(char *out, double value) {
  int64_t scaled = (int64_t)(value * 1e5 + (value < 0 ? -0.5 : 0.5));
  if (value < -1e9 || value > 1e9 || scaled / 1e5 != value)
    return out + sprintf(out, "%.17g", value);
  if (scaled < 0) { *out++ = '-'; scaled = -scaled; }
  out = putInteger(out, scaled / 100000);
  *out++ = '.';
  int64_t fraction = scaled % 100000, digit = 10000;
  do { *out++ = '0' + fraction / digit; fraction %= digit; digit /= 10; } while (fraction && digit);
  return out;
}

static const char *keys[] = {"{\"id\":", ",\"name\":", ",\"country\":", ",\"population\":",
  ",\"latitude\":", ",\"longitude\":", ",\"timezone\":", ",\"admin1\":"};

#ifdef POSTGRES

static PGconn *prepare(void) {
  PGconn *store = PQconnectdb(path);
  PGresult *result = PQprepare(store, "fetch",
    "SELECT id, name, country, population, latitude, longitude, timezone, admin1 FROM \"City\""
    " WHERE population >= $1::bigint ORDER BY population DESC, id LIMIT 50", 1, NULL);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) {
    fprintf(stderr, "%s\n", PQerrorMessage(store));
    exit(1);
  }
  PQclear(result);
  return store;
}

static char *putColumn(char *out, PGresult *rows, int row, int column) {
  if (PQgetisnull(rows, row, column)) return stpcpy(out, "null");
  const char *bytes = PQgetvalue(rows, row, column);
  uint64_t word;
  switch (PQftype(rows, column)) {
  case 20: memcpy(&word, bytes, 8); return putInteger(out, (int64_t)be64toh(word));
  case 701: {
    memcpy(&word, bytes, 8);
    word = be64toh(word);
    double value;
    memcpy(&value, &word, 8);
    return putReal(out, value);
  }
  default: return putText(out, bytes);
  }
}

static char *putRows(char *out, int64_t minimum) {
  static __thread PGconn *store;
  if (!store) store = prepare();
  uint64_t bound = htobe64((uint64_t)minimum);
  const char *values[] = {(const char *)&bound};
  int length = 8, format = 1;
  PGresult *rows = PQexecPrepared(store, "fetch", 1, values, &length, &format, 1);
  if (PQresultStatus(rows) != PGRES_TUPLES_OK) {
    fprintf(stderr, "%s\n", PQerrorMessage(store));
    exit(1);
  }
  for (int row = 0; row < PQntuples(rows); row++) {
    if (row) *out++ = ',';
    for (int column = 0; column < 8; column++)
      out = putColumn(stpcpy(out, keys[column]), rows, row, column);
    *out++ = '}';
  }
  PQclear(rows);
  return out;
}

#else

static char *putColumn(char *out, sqlite3_stmt *row, int column) {
  switch (sqlite3_column_type(row, column)) {
  case SQLITE_INTEGER: return putInteger(out, sqlite3_column_int64(row, column));
  case SQLITE_FLOAT: return putReal(out, sqlite3_column_double(row, column));
  case SQLITE_TEXT: return putText(out, (const char *)sqlite3_column_text(row, column));
  default: return stpcpy(out, "null");
  }
}

static sqlite3_stmt *prepare(void) {
  sqlite3 *store;
  sqlite3_stmt *statement;
  if (sqlite3_open_v2(path, &store, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ||
      sqlite3_busy_timeout(store, 1000) ||
      sqlite3_prepare_v2(store,
        "SELECT id, name, country, population, latitude, longitude, timezone, admin1 FROM City"
        " WHERE population >= ?1 ORDER BY population DESC, id LIMIT 50", -1, &statement, NULL)) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(store));
    exit(1);
  }
  return statement;
}

static char *putRows(char *out, int64_t minimum) {
  static __thread sqlite3_stmt *statement;
  if (!statement) statement = prepare();
  sqlite3_bind_int64(statement, 1, minimum);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (out[-1] == '}') *out++ = ',';
    for (int column = 0; column < 8; column++)
      out = putColumn(stpcpy(out, keys[column]), statement, column);
    *out++ = '}';
  }
  sqlite3_reset(statement);
  return out;
}

#endif

static char *fetch(int64_t minimum, size_t *length) {
  char *body = malloc(32768), *out = body;  // 50 rows; a row of this data stays below 600 bytes
  out = stpcpy(out, "{\"entity\":\"City\",\"token\":\"k3-1042-9f3c\",\"count\":50,\"sections\":["
                    "{\"name\":\"\",\"value\":null,\"indexTitle\":\"\",\"items\":[");
  out = putRows(out, minimum);
  out = stpcpy(out, "]}],\"next\":\"eyIxIjpbMzAwMDAwMCwxMjM0NTY3XX0\"}");
  *length = out - body;
  return body;
}

static enum MHD_Result sendOnce(struct MHD_Connection *connection, struct MHD_Response *response) {
  MHD_add_response_header(response, "Content-Type", "application/json");
  enum MHD_Result result = MHD_queue_response(connection, 200, response);
  MHD_destroy_response(response);
  return result;
}

static struct MHD_Response *filled(size_t size) {
  pthread_mutex_lock(&lock);
  if (!sized || sizedBytes != size) {
    sized = MHD_create_response_from_buffer(size, filler, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(sized, "Content-Type", "application/json");
    sizedBytes = size;
  }
  struct MHD_Response *response = sized;
  pthread_mutex_unlock(&lock);
  return response;
}

static enum MHD_Result resumeAll(struct MHD_Connection *connection) {
  pthread_mutex_lock(&lock);
  int count = heldCount;
  heldCount = 0;
  for (int i = 0; i < count; i++) MHD_resume_connection(held[i]);
  pthread_mutex_unlock(&lock);
  char body[16];
  int length = sprintf(body, "%d", count);
  return sendOnce(connection, MHD_create_response_from_buffer(length, body, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result hold(struct MHD_Connection *connection) {
  pthread_mutex_lock(&lock);
  int isFull = heldCount == maximumHeld;
  if (!isFull) {
    MHD_suspend_connection(connection);
    held[heldCount++] = connection;
  }
  pthread_mutex_unlock(&lock);
  return isFull ? MHD_queue_response(connection, 503, empty) : MHD_YES;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *uploaded, void **state) {
  static int headersSeen, wasHeld;
  if (!*state) { *state = &headersSeen; return MHD_YES; }
  const char *size = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "size");
  size_t bytes = size ? strtoul(size, NULL, 10) : 0;
  if (bytes > sizeof filler) return MHD_NO;
  if (!strcmp(url, "/fetch")) {
    const char *minimum = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "min");
    size_t length;
    char *body = fetch(minimum ? strtoll(minimum, NULL, 10) : 0, &length);
    return sendOnce(connection,
                    MHD_create_response_from_buffer(length, body, MHD_RESPMEM_MUST_FREE));
  }
  if (!strcmp(url, "/static")) return MHD_queue_response(connection, 200, filled(bytes));
  if (!strcmp(url, "/resume")) return resumeAll(connection);
  if (strcmp(url, "/hold")) return MHD_queue_response(connection, 304, empty);
  if (*state == &wasHeld) return MHD_queue_response(connection, 200, filled(bytes));
  *state = &wasHeld;
  return hold(connection);
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "usage: limit FILE WORKERS\n"), 2;
  path = arguments[1];
  memset(filler, 'x', sizeof filler);
  empty = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct MHD_Daemon *daemon = MHD_start_daemon(
    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, answer, NULL,
    MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)atoi(arguments[2]),
    MHD_OPTION_CONNECTION_LIMIT, (unsigned)maximumHeld + 100, MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u,
    MHD_OPTION_END);
  if (!daemon) return fprintf(stderr, "cannot listen\n"), 1;
  printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  pause();
}
