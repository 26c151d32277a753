// All suites of this target run one after another: they measure and they open many sockets.

import TestSupport
import Testing

@Suite(.mayBlock, .serialized) struct HTTPServerTests {}
