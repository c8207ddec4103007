// Where an op was called (core/call_site.h), and the log that tells it.
#pragma once

#include <tarn/core/call_site.h>

namespace tarn::inline v1::detail {

// One line on stderr: "tarn compile: what: text".
void log_line(const char* what, const std::string& text);

}  // namespace tarn::inline v1::detail
