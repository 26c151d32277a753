// Wraps the parts of libmicrohttpd that Swift cannot call: its variadic start and its closed enums.
// Everything here is a plain function or a plain integer.
#pragma once
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static const enum MHD_Result chttp_yes = MHD_YES;
static const enum MHD_Result chttp_no = MHD_NO;
static const unsigned chttp_hangups = EPOLLRDHUP | EPOLLET;
static const unsigned chttp_input = EPOLLIN;

static inline int chttp_is_started(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}

static inline int chttp_is_complete(enum MHD_RequestTerminationCode code) {
  return code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

// Leaves the target as it came; the caller parses the raw one.
static size_t chttp_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

// Sets the flag where accepting failed for want of descriptors or memory. libmicrohttpd's messages
// repeat bytes that a client chose: they go nowhere.
static void chttp_note_message(void *cannot_accept, const char *format, va_list arguments) {
  (void)arguments;
  if (strstr(format, "resource limit")) *(int *)cannot_accept = 1;
}

struct chttp_settings {
  size_t connection_memory;
  unsigned connection_limit;
  // For each address; 0 for none.
  unsigned address_limit;
  unsigned timeout_seconds;
  void *context;
  int *cannot_accept;
  MHD_AccessHandlerCallback access;
  void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback notify;
  // Chooses the certificate of a TLS handshake; null for HTTP without TLS.
  gnutls_certificate_retrieve_function2 *certificate;
};

// The version that is loaded, which may be later than the headers.
static inline int chttp_is_0_9_75(void) { return strcmp(MHD_get_version(), "0.9.75") == 0; }

// The option for strictness; later versions have another one. The request gate knows how 0.9.75 leaves
// a head in memory, and responds to each malformed one with a problem: level 0 leaves that to it. Later
// versions have to refuse bare LFs, folded lines and surplus blanks by themselves, with pages of their
// own: level 1.
#if MHD_VERSION >= 0x00097701
#define CHTTP_STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define CHTTP_STRICTNESS MHD_OPTION_STRICT_FOR_CLIENT
#endif

// TLS 1.2 and 1.3 with the ciphers that GnuTLS considers secure.
static const char chttp_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

// A daemon that its caller runs, on a listening socket that it owns from then on; null if it could
// not, and the socket is still the caller's.
static inline struct MHD_Daemon *chttp_start(const struct chttp_settings *s, int listener) {
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)s->certificate},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)chttp_priorities},
      {MHD_OPTION_END, 0, NULL}};
  if (s->certificate) flags |= MHD_USE_TLS;
  return MHD_start_daemon(
      flags, 0, NULL, NULL, s->access, s->context,
      MHD_OPTION_EXTERNAL_LOGGER, chttp_note_message, s->cannot_accept,
      MHD_OPTION_LISTEN_SOCKET, listener,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->connection_memory,
      MHD_OPTION_CONNECTION_LIMIT, s->connection_limit,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->address_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, s->timeout_seconds,
      MHD_OPTION_URI_LOG_CALLBACK, s->target, s->context,
      MHD_OPTION_UNESCAPE_CALLBACK, chttp_keep_escapes, NULL,
      MHD_OPTION_NOTIFY_COMPLETED, s->completed, s->context,
      MHD_OPTION_NOTIFY_CONNECTION, s->notify, s->context,
      CHTTP_STRICTNESS, chttp_is_0_9_75() ? 0 : 1,
      MHD_OPTION_SERVER_INSANITY, (unsigned)MHD_DSC_SANE,
      MHD_OPTION_ARRAY, s->certificate ? options : options + 2,
      MHD_OPTION_END);
}

// Has a daemon's epoll set wake when `descriptor` is written to; the daemon passes over events
// without a connection.
static inline int chttp_add_wakeup(int set, int descriptor) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = NULL;
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

static inline unsigned chttp_connection_count(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info ? info->num_connections : 0;
}

// The descriptor to poll for input before a daemon is run.
static inline int chttp_epoll_set(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

static inline int chttp_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// The TLS session of a connection; null without TLS.
static inline gnutls_session_t chttp_tls_session(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info ? (gnutls_session_t)info->tls_session : NULL;
}

static inline int chttp_supports_tls(void) {
  return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES &&
         MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) == MHD_YES;
}

static inline void *chttp_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

// Bytes of the request line and the header lines, with the empty line that ends them.
static inline size_t chttp_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}

static inline int chttp_each_header(
    struct MHD_Connection *connection, MHD_KeyValueIteratorN visit, void *context) {
  return MHD_get_connection_values_n(connection, MHD_HEADER_KIND, visit, context);
}

// A response whose body is malloc'ed memory; freed with the response's last use.
static inline struct MHD_Response *chttp_response_of_memory(
    size_t size, void *memory, MHD_ContentReaderFreeCallback release) {
  return MHD_create_response_from_buffer_with_free_callback(size, memory, release);
}

// A response whose body is memory of `owner`, which `release` gets when the response is destroyed.
static inline struct MHD_Response *chttp_response_of_shared_memory(
    size_t size, void *memory, MHD_ContentReaderFreeCallback release, void *owner) {
  return MHD_create_response_from_buffer_with_free_callback_cls(size, memory, release, owner);
}

static ssize_t chttp_no_bytes(void *context, uint64_t position, char *buffer, size_t room) {
  (void)context;
  (void)position;
  (void)buffer;
  (void)room;
  return MHD_CONTENT_READER_END_WITH_ERROR;
}

// A response that names a length and has no bytes: for 304.
static inline struct MHD_Response *chttp_response_of_length(uint64_t length) {
  return MHD_create_response_from_callback(length, 16, chttp_no_bytes, NULL, NULL);
}

// A response of unknown length, pulled from `read`.
static inline struct MHD_Response *chttp_response_of_stream(
    size_t block, MHD_ContentReaderCallback read, void *context,
    MHD_ContentReaderFreeCallback release) {
  return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, read, context, release);
}

// Has a response go out without chunks and close its connection.
static inline void chttp_end_by_closing(struct MHD_Response *response) {
  MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

static inline int chttp_watch(int set, int operation, int descriptor, unsigned events) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = events;
  event.data.fd = descriptor;
  return epoll_ctl(set, operation, descriptor, &event);
}

static inline int chttp_event_descriptor(const struct epoll_event *event) {
  return event->data.fd;
}

// Whether the peer has reset the connection, or both directions are closed.
static inline int chttp_event_is_reset(const struct epoll_event *event) {
  return (event->events & (EPOLLHUP | EPOLLERR)) != 0;
}

// How many descriptors the process may have open; at most 1 << 30.
static inline long chttp_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return limit.rlim_cur < 1 << 30 ? (long)limit.rlim_cur : 1 << 30;
}

static inline void chttp_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The thread sanitizer's own functions; absent, and then null, in builds without it.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static inline void chttp_lock_taken(uintptr_t name) {
  if (__tsan_acquire) __tsan_acquire((void *)name);
}

static inline void chttp_lock_given(uintptr_t name) {
  if (__tsan_release) __tsan_release((void *)name);
}
