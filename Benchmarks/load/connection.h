// One HTTP/1.1 client connection for measuring: requests go out whole, answers come in whole,
// by Content-Length, or event by event from a stream. Any answer of 400 or more ends the program.

#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int socket;
  int isStream, isWaiting;
  size_t length, capacity;
  char *bytes;  // the received part of the current response, ended by a NUL
  char authorization[1024];  // a header line, or empty
} Connection;

static int poller;

static void die(const char *why, const char *more) {
  fprintf(stderr, "load: %s %.600s\n", why, more);
  exit(1);
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// Gives a connection the next credential of the file that LOAD_CREDENTIALS names; after the last
// line the first one again.
static void authorize(Connection *connection) {
  static FILE *file;
  const char *name = getenv("LOAD_CREDENTIALS");
  char line[900];
  if (!name) return;
  if (!file && !(file = fopen(name, "r"))) die("cannot read", name);
  if (!fgets(line, sizeof line, file)) {
    rewind(file);
    if (!fgets(line, sizeof line, file)) die("no credential in", name);
  }
  line[strcspn(line, "\n")] = 0;
  snprintf(connection->authorization, sizeof connection->authorization,
           "Authorization: Bearer %s\r\n", line);
}

static void openConnection(Connection *connection, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  memset(connection, 0, sizeof *connection);
  authorize(connection);
  connection->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->socket < 0 ||
      connect(connection->socket, (struct sockaddr *)&address, sizeof address))
    die("connect:", strerror(errno));
  int yes = 1;
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(connection->socket, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->socket, &event);
}

static void sendRequest(Connection *connection, const char *method, const char *path,
                        const char *body) {
  static char request[1 << 16];
  size_t size = snprintf(request, sizeof request,
    "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "%sContent-Length: %zu\r\n\r\n%s", method, path, connection->authorization, strlen(body),
    body);
  if (size >= sizeof request) die("request too long", "");
  connection->length = 0;
  connection->isWaiting = 1;
  for (size_t sent = 0; sent < size;) {
    ssize_t count = write(connection->socket, request + sent, size - sent);
    if (count > 0) sent += count;
    else if (errno == EAGAIN) poll(&(struct pollfd){connection->socket, POLLOUT, 0}, 1, -1);
    else die("write:", strerror(errno));
  }
}

// The body of a whole answer, or NULL while it is not whole.
static const char *wholeBody(Connection *connection) {
  char *end = connection->length ? strstr(connection->bytes, "\r\n\r\n") : NULL;
  if (!end) return NULL;
  int status = atoi(connection->bytes + 9);
  if (status >= 400) die("refused:", connection->bytes);
  if (connection->isStream) {
    char *data = strstr(end, "data:");
    return data && strstr(data, "\n\n") ? data : NULL;
  }
  if (status == 204 || status == 304) return end + 4;
  char *header = strcasestr(connection->bytes, "\r\ncontent-length:");
  if (!header || header > end) die("no length:", connection->bytes);
  size_t size = strtoul(header + 17, NULL, 10);
  return connection->bytes + connection->length >= end + 4 + size ? end + 4 : NULL;
}

// The last bytes of a stream's answer stay unread until the next event: its head is kept.
static void readAvailable(Connection *connection) {
  for (;;) {
    if (connection->length + 4096 > connection->capacity) {
      connection->capacity = connection->capacity ? connection->capacity * 2 : 8192;
      connection->bytes = realloc(connection->bytes, connection->capacity);
    }
    size_t space = connection->capacity - connection->length - 1;
    ssize_t count = read(connection->socket, connection->bytes + connection->length, space);
    if (count <= 0) {
      if (count < 0 && errno == EAGAIN) return;
      die("closed:", connection->length ? connection->bytes : "");
    }
    connection->length += count;
    connection->bytes[connection->length] = 0;
    if ((size_t)count < space) return;
  }
}

// A stream is ready for its next event: what came is dropped up to the end of its head.
static void awaitEvent(Connection *connection) {
  char *end = strstr(connection->bytes, "\r\n\r\n");
  connection->length = end + 4 - connection->bytes;
  connection->bytes[connection->length] = 0;
  connection->isWaiting = 1;
}

// Hands each connection whose answer is whole to `finished` until `pending` is none.
static void await(int *pending, void (*finished)(Connection *, const char *body)) {
  struct epoll_event events[512];
  while (*pending > 0) {
    int count = epoll_wait(poller, events, 512, 10000);
    if (count == 0) die("no answer within 10 s", "");
    for (int i = 0; i < count; i++) {
      Connection *connection = events[i].data.ptr;
      readAvailable(connection);
      const char *body = connection->isWaiting ? wholeBody(connection) : NULL;
      if (!body) continue;
      connection->isWaiting = 0;
      finished(connection, body);
      --*pending;
    }
  }
}
