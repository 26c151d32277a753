// One transfer of libcurl: a request → the settings of a handle; what its callbacks receive → events.

#if !canImport(Darwin)

  import CCurl
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// The settings that all transfers of an engine share. Used only by the engine's thread.
  final class CurlSettings {
    /// Files and folders of trusted certificates, as the program `curl` reads them from the environment.
    let certificateFile = CurlSettings.variable("CURL_CA_BUNDLE") ?? variable("SSL_CERT_FILE")
    let certificateFolder = CurlSettings.variable("SSL_CERT_DIR")
    /// True if a transfer has a deadline that the last check of the time limits did not see.
    var hasNewDeadline = false

    private static func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// A running transfer. Used only by the engine's thread.
  final class CurlTransfer {
    let transfer: Transfer
    let handle: UnsafeMutableRawPointer
    private let settings: CurlSettings
    private var requestHeaders: UnsafeMutablePointer<curl_slist>?
    /// libcurl writes a description of an error here.
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: ccurl_error_size)

    private(set) var phase = TransferError.Phase.connect
    private var lastActivity = ContinuousClock.now
    private var uploaded: curl_off_t = 0
    private var isPaused = false
    private var headLines: [String] = []
    private var headSize = 0
    private var hasHead = false
    /// Why a callback ended the transfer.
    private var fault: String?

    /// Bytes of a response's head; more are refused.
    private static let maxHeadSize = 1 << 20

    init?(_ transfer: Transfer, _ settings: CurlSettings) {
      guard let handle = curl_easy_init() else {
        errorText.deallocate()
        return nil
      }
      self.transfer = transfer
      self.handle = handle
      self.settings = settings
      errorText.pointee = 0
      configure()
    }

    deinit {
      curl_easy_cleanup(handle)
      curl_slist_free_all(requestHeaders)
      errorText.deallocate()
    }

    /// The transfer of a handle that this type has configured.
    static func of(_ handle: UnsafeMutableRawPointer) -> CurlTransfer? {
      var context: UnsafeMutableRawPointer?
      ccurl_get_context(handle, &context)
      return context.map { of(context: $0) }
    }

    fileprivate static func of(context: UnsafeMutableRawPointer) -> CurlTransfer {
      Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: - Reading on

    func resume() {
      isPaused = false
      lastActivity = .now
      settings.hasNewDeadline = true
      curl_easy_pause(handle, ccurl_continue)
    }

    /// The deadline of the current phase; nil while connecting, which libcurl limits itself, and while
    /// the reader does not read.
    func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
      guard phase != .connect, !isPaused else { return nil }
      let limits = transfer.request.limits
      let limit = phase == .body ? limits.idle : limits.response
      let deadline = lastActivity + .seconds(limit)
      guard deadline <= now else { return deadline }
      // A request that is still being sent is activity too.
      let count = ccurl_get_size(handle, CURLINFO_SIZE_UPLOAD_T)
      guard count > uploaded else { return deadline }
      uploaded = count
      lastActivity = now
      return now + .seconds(limit)
    }

    private func enter(_ phase: TransferError.Phase) {
      lastActivity = .now
      guard self.phase != phase else { return }
      self.phase = phase
      settings.hasNewDeadline = true
    }
  }

  // MARK: - The request

  extension CurlTransfer {
    private func configure() {
      let request = transfer.request
      set(CURLOPT_URL, request.url)
      set(CURLOPT_CUSTOMREQUEST, request.method)
      set(CURLOPT_NOBODY, request.method == "HEAD" ? 1 : 0)
      set(CURLOPT_PATH_AS_IS, 1)
      set(CURLOPT_HTTP_VERSION, ccurl_http_1_1)
      set(CURLOPT_NOSIGNAL, 1)
      set(CURLOPT_TCP_KEEPALIVE, 1)
      set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, min(request.limits.connect, 1e6) * 1000)))
      ccurl_leave_lookups(handle)
      if isLocal(request.url) { set(CURLOPT_PROXY, "") }
      if let file = settings.certificateFile { set(CURLOPT_CAINFO, file) }
      if let folder = settings.certificateFolder { set(CURLOPT_CAPATH, folder) }
      setBody(request)
      setHeaders(request)
      setCallbacks()
    }

    private func setBody(_ request: ClientRequest) {
      guard !request.body.isEmpty || request.method == "POST" || request.method == "PUT" else {
        return
      }
      ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
      request.body.withUnsafeBytes { bytes in
        // libcurl copies them. Without a byte it needs a pointer all the same.
        _ = "".withCString { empty in
          ccurl_set_pointer(
            handle, CURLOPT_COPYPOSTFIELDS,
            UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(empty)))
        }
      }
    }

    /// libcurl adds `Accept`, `Content-Type` and `Expect` of its own unless they are given or, without
    /// a value, taken out.
    private func setHeaders(_ request: ClientRequest) {
      let names = Set(request.headers.map { $0.name.lowercased() })
      var lines = ["Accept", "Content-Type", "Expect"].filter { !names.contains($0.lowercased()) }
        .map { "\($0):" }
      // A header without a value ends with a semicolon here.
      lines += request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
      for line in lines { requestHeaders = curl_slist_append(requestHeaders, line) }
      ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, requestHeaders)
    }

    private func setCallbacks() {
      let context = Unmanaged.passUnretained(self).toOpaque()
      ccurl_set_pointer(handle, CURLOPT_PRIVATE, context)
      ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
      ccurl_set_pointer(handle, CURLOPT_PREREQDATA, context)
      ccurl_set_prerequest(handle) { context, _, _, _, _ in
        if let context { CurlTransfer.of(context: context).enter(.response) }
        return CURL_PREREQFUNC_OK
      }
      ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context)
      ccurl_set_receiver(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        return CurlTransfer.of(context: context).receiveHeader(bytes, size * count)
      }
      ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context)
      ccurl_set_receiver(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        return CurlTransfer.of(context: context).receiveBody(bytes, size * count)
      }
    }

    private func set(_ option: CURLoption, _ value: Int) { ccurl_set_number(handle, option, value) }

    private func set(_ option: CURLoption, _ value: String) {
      ccurl_set_text(handle, option, value)
    }

    /// True for addresses of the loopback interface: no proxy leads there.
    private func isLocal(_ url: String) -> Bool {
      let rest = url.drop { $0 != ":" }.dropFirst(3)
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      let host = authority.split(separator: "@").last.map(String.init)?.lowercased() ?? ""
      let name = host.prefix { $0 != ":" }
      return host.hasPrefix("[::1]") || name == "localhost"
        || name.hasPrefix("127.") && name.allSatisfy { $0.isNumber || $0 == "." }
    }
  }

  // MARK: - The response

  extension CurlTransfer {
    /// One line of the head, or of the trailer after a body in chunks. Returns how many bytes were
    /// taken; fewer than `count` end the transfer.
    private func receiveHeader(_ bytes: UnsafePointer<CChar>, _ count: Int) -> Int {
      lastActivity = .now
      guard !hasHead else { return count }
      headSize += count
      guard headSize <= Self.maxHeadSize else {
        fault = "the headers do not end"
        return 0
      }
      let raw = UnsafeRawBufferPointer(start: bytes, count: count)
      let line = String(decoding: raw.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
      guard line.isEmpty else {
        headLines.append(line)
        return count
      }
      defer { headLines = [] }
      guard let head = ResponseHead(headLines) else {
        fault = "the response is not HTTP"
        return 0
      }
      // The final response follows an interim one.
      guard head.status >= 200 else { return count }
      hasHead = true
      _ = transfer.receive(.head(head))
      return count
    }

    private func receiveBody(_ bytes: UnsafePointer<CChar>, _ count: Int) -> Int {
      let raw = UnsafeRawBufferPointer(start: bytes, count: count)
      guard transfer.receive(.body(Array(raw))) else {
        isPaused = true
        return ccurl_pause
      }
      enter(.body)
      return count
    }

    /// The event that a result of libcurl represents.
    func lastEvent(_ result: CURLcode) -> TransferEvent {
      if let fault { return .failed(.failed(fault)) }
      guard result == CURLE_OK else {
        let error = error(result)
        guard phase == .connect, case .failed(let reason) = error else { return .failed(error) }
        return .failed(.notConnected(reason))
      }
      // libcurl takes a head that breaks off for a whole one.
      return hasHead ? .end : .failed(.failed(Self.closedEarly))
    }

    private static let closedEarly = "the server closed the connection in the middle of a response"

    private func error(_ result: CURLcode) -> TransferError {
      switch result {
      case CURLE_OPERATION_TIMEDOUT: return .timedOut(phase)
      case CURLE_COULDNT_RESOLVE_HOST: return .failed("there is no such host")
      case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING: return .failed(Self.closedEarly)
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
        return .failed("the response is not HTTP")
      default: break
      }
      let number = ccurl_get_number(handle, CURLINFO_OS_ERRNO)
      if result == CURLE_COULDNT_CONNECT, number != 0 {
        return .failed(String(cString: strerror(Int32(truncatingIfNeeded: number))))
      }
      let text = String(cString: errorText)
      return .failed(text.isEmpty ? String(cString: curl_easy_strerror(result)) : text)
    }
  }

#endif
