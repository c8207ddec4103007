// A folder of its own for a test, removed with all in it when the test ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tarn::testing {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tarn-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : throw std::filesystem::filesystem_error("mkdtemp", name, {});
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tarn::testing
