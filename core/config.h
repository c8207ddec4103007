// What this build of Tarn was made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tarn/core/macros.h>

namespace tarn::inline v1 {

// Version, instruction sets, threads and libraries, one line each.
TARN_API std::string show_config();

namespace detail {
// The same as (name, text).
TARN_API std::vector<std::pair<std::string, std::string>> config_items();
}  // namespace detail

}  // namespace tarn::inline v1
