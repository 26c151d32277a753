// zlib for Swift.
#pragma once
#include <zlib.h>
