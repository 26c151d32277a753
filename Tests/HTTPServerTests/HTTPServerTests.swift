// All suites of this target run one after another: they measure and they open many sockets.

import Testing

@Suite(.serialized) struct HTTPServerTests {}
