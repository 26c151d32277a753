// The load that wrk cannot make. Every form prints one line per round, times in microseconds.
//   load ping PORT COUNT METHOD PATH BODY [PAUSE]
//     one request after another on one connection, PAUSE after the answer; prints each one's time
//   load poll PORT CLIENTS ROUNDS WAITPATH TOKEN METHOD PATH BODY
//     CLIENTS long polls, then one save; prints the times to the save's answer, to the first and
//     the last waiter's, and its bytes. {token} in WAITPATH is TOKEN, then each diff's "to"
//   load stream PORT CLIENTS ROUNDS TOPIC METHOD PATH BODY
//     the same with PocketBase's event streams, each subscribed to TOPIC
//   load hold PORT FILE
//     a long poll for each path in FILE, until standard input ends; prints how many then still wait
// PORT may be several, as 8001,8002: the clients are spread over them, and the first gets the saves.
// {n} in PATH and BODY counts the rounds, in five digits. LOAD_CREDENTIALS names a file with a
// credential in each line: the connection that saves has the first, the clients have the others.

#define _GNU_SOURCE
#include "connection.h"

static Connection control, *clients;
static int ports[16], portCount;
static int pending, waitersLeft;
static double controlTime, firstTime, lastTime;
static size_t answerBytes;
static char token[256];

static const char *filledIn(const char *template, const char *key, const char *value) {
  static char texts[4][1 << 15];
  static int next;
  char *text = texts[next++ % 4];
  const char *place = strstr(template, key);
  if (!place) return template;
  snprintf(text, sizeof texts[0], "%.*s%s%s", (int)(place - template), template, value,
           place + strlen(key));
  return text;
}

static const char *numbered(const char *template, int round) {
  char number[16];
  snprintf(number, sizeof number, "%05d", round);
  return filledIn(template, "{n}", number);
}

// Notes when each answer came; a diff's "to" is the token of the next round.
static void finished(Connection *connection, const char *body) {
  double now = microseconds();
  if (connection == &control) {
    controlTime = now;
    return;
  }
  if (!firstTime) firstTime = now;
  lastTime = now;
  if (--waitersLeft) return;
  answerBytes = connection->bytes + connection->length - body;
  const char *to = strstr(body, "\"to\":\"");
  if (to) sscanf(to + 6, "%255[^\"]", token);
}

static void exchange(const char *method, const char *path, const char *body) {
  sendRequest(&control, method, path, body);
  pending = 1;
  await(&pending, finished);
}

// Time for the server to hold what was sent; an answer that comes meanwhile is an error.
static void settle(int count) {
  usleep(30000 + 50 * count);
  struct epoll_event event;
  if (epoll_wait(poller, &event, 1, 0) > 0) {
    Connection *early = event.data.ptr;
    readAvailable(early);
    die("answered before the save:", early->bytes);
  }
}

static void saveAndReport(int count, int round, char **request) {
  settle(count);
  firstTime = 0;
  waitersLeft = count;
  pending = count + 1;
  const char *path = numbered(request[1], round), *body = numbered(request[2], round);
  double start = microseconds();
  sendRequest(&control, request[0], path, body);
  await(&pending, finished);
  printf("%.1f %.1f %.1f %zu\n", controlTime - start, firstTime - start, lastTime - start,
         answerBytes);
}

static void readPorts(char *text) {
  for (; portCount < 16; text++) {
    ports[portCount++] = strtol(text, &text, 10);
    if (*text != ',') return;
  }
}

static void openClient(int i) { openConnection(&clients[i], ports[i % portCount]); }

static void openClients(int count) {
  clients = calloc(count, sizeof *clients);
  for (int i = 0; i < count; i++) openClient(i);
}

static void ping(int count, int pause, char **request) {
  for (int round = 0; round < count; round++) {
    const char *path = numbered(request[1], round), *body = numbered(request[2], round);
    usleep(pause);
    double start = microseconds();
    exchange(request[0], path, body);
    printf("%.1f\n", controlTime - start);
  }
}

static void pollRounds(int count, int rounds, char **arguments) {
  openClients(count);
  snprintf(token, sizeof token, "%s", arguments[1]);
  for (int round = 0; round < rounds; round++) {
    const char *path = filledIn(arguments[0], "{token}", token);
    for (int i = 0; i < count; i++) sendRequest(&clients[i], "GET", path, "");
    saveAndReport(count, round, arguments + 2);
  }
}

static void subscribe(Connection *client, const char *body, const char *topic) {
  char id[64] = "", text[4096];
  const char *place = strstr(body, "\"clientId\":\"");
  if (!place || sscanf(place + 12, "%63[^\"]", id) != 1) die("no clientId:", body);
  snprintf(text, sizeof text, "{\"clientId\":\"%s\",\"subscriptions\":[\"%s\"]}", id, topic);
  exchange("POST", "/api/realtime", text);
}

static void streamRounds(int count, int rounds, char **arguments) {
  openClients(count);
  for (int i = 0; i < count; i++) {
    clients[i].isStream = 1;
    sendRequest(&clients[i], "GET", "/api/realtime", "");
  }
  waitersLeft = pending = count;
  await(&pending, finished);
  for (int i = 0; i < count; i++) subscribe(&clients[i], clients[i].bytes, arguments[0]);
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < count; i++) awaitEvent(&clients[i]);
    saveAndReport(count, round, arguments + 1);
  }
}

static void hold(const char *file) {
  FILE *paths = fopen(file, "r");
  if (!paths) die("cannot read", file);
  char path[8192];
  int count = 0;
  clients = calloc(20000, sizeof *clients);
  for (; count < 20000 && fgets(path, sizeof path, paths); count++) {
    path[strcspn(path, "\n")] = 0;
    openClient(count);
    sendRequest(&clients[count], "GET", path, "");
  }
  settle(count);
  printf("%d\n", count);
  fflush(stdout);
  while (getchar() != EOF) {}
  struct epoll_event events[512];
  int answered = epoll_wait(poller, events, 512, 0);
  // The server closes a connection that makes no request.
  for (int i = answered; i-- > 0;) answered -= events[i].data.ptr == &control;
  printf("%d\n", count - answered);
}

int main(int count, char **arguments) {
  const char *form = count > 3 ? arguments[1] : "";
  readPorts(count > 2 ? arguments[2] : "");
  poller = epoll_create1(0);
  openConnection(&control, ports[0]);
  if (!strcmp(form, "ping") && count >= 7)
    ping(atoi(arguments[3]), count > 7 ? atoi(arguments[7]) : 0, arguments + 4);
  else if (!strcmp(form, "poll") && count == 10)
    pollRounds(atoi(arguments[3]), atoi(arguments[4]), arguments + 5);
  else if (!strcmp(form, "stream") && count == 9)
    streamRounds(atoi(arguments[3]), atoi(arguments[4]), arguments + 5);
  else if (!strcmp(form, "hold") && count == 4) hold(arguments[3]);
  else die("see the forms at the top of load.c", "");
}
