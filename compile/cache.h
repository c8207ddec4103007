// The kernels on disk: $XDG_CACHE_HOME/tarn/kernels (or ~/.cache/tarn/kernels), one shared library each. A
// folder that is a link, not ours or writable by others is refused. An entry ends in a trailer that says what
// it was made from and a checksum; one that does not hold is thrown away. Entries appear by renaming a
// finished file, so processes need no locks, and what a killed process left is swept by the next one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tarn/core/macros.h>

namespace tarn::inline v1::detail {

class TARN_API KernelCache {
 public:
  // The user's folder, made where it is missing; `why` says why there is none.
  static std::optional<KernelCache> open(std::string* why);
  // The same in a folder of the caller's choice.
  static std::optional<KernelCache> open_at(const std::string& folder, std::string* why);

  // The library of an entry whose trailer and checksum hold; "" if there is none. `made_from`: version,
  // compiler, flags and source, which name the entry.
  std::string find(const std::string& made_from) const;
  // A name for a file that becomes an entry by add(), which returns its place or "" with the reason.
  std::string temporary() const;
  std::string add(const std::string& library, const std::string& made_from, std::string* why) const;
  void drop(const std::string& made_from) const;

  struct Entry {
    std::string name;
    int64_t bytes;
    int64_t used;  // seconds since 1970
  };
  std::vector<Entry> entries() const;
  // How many were deleted.
  int64_t clear() const;
  // Deletes the entries that were not used for longest, until `bytes` are left at most.
  void trim(int64_t bytes) const;

  const std::string& folder() const { return folder_; }

 private:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}
  std::string place(const std::string& made_from) const;
  void sweep() const;

  std::string folder_;
};

}  // namespace tarn::inline v1::detail
