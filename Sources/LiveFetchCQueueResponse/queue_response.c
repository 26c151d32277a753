// Replaces libmicrohttpd's own responses to malformed requests; see include/queue_response.h.
#define _GNU_SOURCE
#include "queue_response.h"

#ifdef __linux__
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>

typedef enum MHD_Result (*queue_function)(
    struct MHD_Connection *, unsigned, struct MHD_Response *);

/// The library's function, which is looked up once.
static queue_function library_queue;
static pthread_once_t is_looked_up = PTHREAD_ONCE_INIT;
static _Thread_local livefetch_page_maker make_page;
static _Thread_local void *page_context;

static void look_up(void) {
  library_queue = (queue_function)dlsym(RTLD_NEXT, "MHD_queue_response");
}

void livefetch_replace_pages(livefetch_page_maker make, void *context) {
  make_page = make;
  page_context = context;
}

int livefetch_queue_response(
    struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
  pthread_once(&is_looked_up, look_up);
  return library_queue && library_queue(connection, status, response) == MHD_YES;
}

enum MHD_Result MHD_queue_response(
    struct MHD_Connection *connection, unsigned status, struct MHD_Response *page) {
  struct MHD_Response *answer = make_page ? make_page(page_context, connection, status) : 0;
  int is_queued = livefetch_queue_response(connection, status, answer ? answer : page);
  if (answer) MHD_destroy_response(answer);
  return is_queued ? MHD_YES : MHD_NO;
}
#endif
