// libcurl for Swift.
#pragma once
#include <curl/curl.h>

// Swift cannot call functions with variable arguments: one function for each type of argument.

typedef size_t (*ccurl_receiver)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_prerequest)(void *context, char *, char *, int, int);

static inline CURLcode ccurl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_receiver(CURL *handle, CURLoption option, ccurl_receiver value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_prerequest(CURL *handle, ccurl_prerequest value) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

// Removing a transfer does not wait until its host name is looked up. Before 7.87 it does.
static inline void ccurl_leave_lookups(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)handle;
#endif
}

static inline long ccurl_get_number(CURL *handle, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

static inline curl_off_t ccurl_get_size(CURL *handle, CURLINFO info) {
  curl_off_t value = 0;
  return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

static inline void ccurl_get_context(CURL *handle, void **context) {
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, context);
}

// The next transfer that has ended, and its result; NULL if there is none.
static inline CURL *ccurl_next_done(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

static inline CURLcode ccurl_prepare(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

// Macros that Swift does not import, or not in every version of libcurl with the same type.
static const long ccurl_http_1_1 = CURL_HTTP_VERSION_1_1;
static const size_t ccurl_pause = CURL_WRITEFUNC_PAUSE;
static const int ccurl_continue = CURLPAUSE_CONT;
static const size_t ccurl_error_size = CURL_ERROR_SIZE;
