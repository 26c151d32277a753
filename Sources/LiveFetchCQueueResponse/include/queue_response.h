// The answers that libmicrohttpd queues by itself enter; answers of the program leave in their place.
//
// libmicrohttpd answers a request that it cannot parse, or that has no room in a connection's memory,
// with a page of HTML, and has no option to change it. It queues the page with its own public function
// MHD_queue_response, which the dynamic linker looks up in the program first. This target defines a
// function of that name. On threads that did not call `livefetch_replace_pages`, it only calls the
// library's function. A library that calls its own function directly sends its page.

#ifndef LIVEFETCH_QUEUE_RESPONSE_H
#define LIVEFETCH_QUEUE_RESPONSE_H

struct MHD_Connection;
struct MHD_Response;

/// Makes the answer that takes the place of a page with this status, or returns NULL to send the page.
/// The answer is destroyed after it was queued.
typedef struct MHD_Response *(*livefetch_page_maker)(
    void *context, struct MHD_Connection *connection, unsigned status);

/// Has libmicrohttpd, where it is run by the calling thread, send the answers of `make` in place of its
/// own pages. `context` is handed to `make`.
void livefetch_replace_pages(livefetch_page_maker make, void *context);

/// Queues an answer of the program; returns 1, or 0 if libmicrohttpd refuses it.
int livefetch_queue_response(
    struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
