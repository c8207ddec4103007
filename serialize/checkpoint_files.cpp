#include <tarn/serialize/checkpoint_files.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>

#include <tarn/core/crc32c.h>
#include <tarn/serialize/atomic_file.h>
#include <tarn/serialize/safetensors.h>
#include <tarn/serialize/system.h>

namespace tarn::inline v1::checkpoint::detail {

using tarn::detail::crc32c;
using tarn::detail::InputFile;
using tarn::detail::NewFile;
using tarn::detail::rename_durably;
using tarn::detail::sync_folder;
namespace sys = tarn::detail::sys;
namespace fs = std::filesystem;

namespace {

constexpr const char* kWhat = "checkpoint";
constexpr const char* kPrefix = "step-";
constexpr const char* kTemporary = ".tmp.";
constexpr uint64_t kMaxManifestBytes = 100'000'000;

// Digits without sign or leading zeros.
std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool good = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return good && str(value) == text ? std::optional(value) : std::nullopt;
}

std::string read_text(const std::string& path, uint64_t limit) {
  InputFile file(kWhat, path);
  check(file.size() <= limit, "checkpoint: ", path, " has ", file.size(), " bytes, at most ", limit,
        " are accepted");
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size(), 0);
  return text;
}

// A missing folder is made to last, too.
void make_folders(const fs::path& path) {
  if (path.empty() || fs::is_directory(path)) return;
  make_folders(path.parent_path());
  bool made = sys::make_folder(path) == 0;
  check(made || errno == EEXIST, "checkpoint: cannot create the folder ", path.string(), ": ",
        std::strerror(errno));
  sync_folder(kWhat, tarn::detail::folder_of(path.string()));
}

// Removes the files of a folder and then the folder, its manifest first: from then on it is no checkpoint.
// False if something stays, with errno.
bool remove_checkpoint(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename());
  std::stable_partition(names.begin(), names.end(), [](auto& name) { return name == kManifestName; });
  bool good = true;
  for (const std::string& name : names) good &= sys::unlink(path + "/" + name) == 0;
  return good && sys::remove_folder(path) == 0;
}

// The folder that a checkpoint is written to, before it gets its name. Removed unless that happened.
class NewFolder {
 public:
  explicit NewFolder(std::string path) : path_(std::move(path)) {
    check(sys::make_folder(path_) == 0, "checkpoint: cannot create the folder ", path_, ": ",
          std::strerror(errno));
  }
  ~NewFolder() {
    if (!path_.empty()) remove_checkpoint(path_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void become(const std::string& path) {
    sync_folder(kWhat, path_);
    rename_durably(kWhat, path_, path);
    path_.clear();
  }

 private:
  std::string path_;
};

ShardFile write_shard(const std::string& path, const Snapshot& snapshot, const Shard& shard) {
  std::string header = safetensors::write_header(shard.header);
  uint64_t length = header.size();
  header.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  std::string_view bytes = snapshot.bytes(shard);
  NewFile file(kWhat, path);
  file.write(header.data(), header.size());
  file.write(bytes.data(), bytes.size());
  file.finish();
  return {header.size() + bytes.size(), crc32c(bytes, crc32c(header))};
}

void write_text(const std::string& path, const std::string& text) {
  NewFile file(kWhat, path);
  file.write(text.data(), text.size());
  file.finish();
}

// What killed writers left, and all but `keep` checkpoints up to the one just written. Later steps, of a run
// that was abandoned, are nobody's business here.
void prune(const std::string& dir, const Name& newest, int64_t keep) {
  std::vector<std::string> doomed;
  for (const auto& entry : fs::directory_iterator(dir)) {
    std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) == 0 && name.find(kTemporary) != std::string::npos) doomed.push_back(name);
  }
  int64_t kept = 0;
  for (const Name& name : list(dir)) {
    if (name > newest) continue;
    bool superseded = name.step == newest.step && name != newest;
    if (superseded || (keep > 0 && ++kept > keep)) doomed.push_back(name.text());
  }
  for (const std::string& name : doomed)
    check(remove_checkpoint(dir + "/" + name), "checkpoint: ", dir, "/", newest.text(),
          " is saved, but the old ", name, " cannot be removed: ", std::strerror(errno));
}

Name free_name(const std::string& dir, int64_t step) {
  Name name{step, 0};
  for (const Name& taken : list(dir))
    if (taken.step == step) name.attempt = std::max(name.attempt, taken.attempt + 1);
  return name;
}

uint32_t checksum_of(const InputFile& file) {
  std::string buffer(size_t(1) << 20, '\0');
  uint32_t sum = 0;
  for (uint64_t at = 0; at < file.size();) {
    uint64_t bytes = std::min<uint64_t>(buffer.size(), file.size() - at);
    file.read(buffer.data(), bytes, at);
    sum = crc32c({buffer.data(), bytes}, sum);
    at += bytes;
  }
  return sum;
}

void verify_shard(const std::string& path, const std::string& name, const ShardFile& want,
                  const std::string& where) {
  check(fs::exists(path), where, name, " is missing");
  InputFile file(kWhat, path);
  check(file.size() == want.bytes, where, name, " has ", file.size(), " bytes, the manifest says ",
        want.bytes);
  uint32_t sum = checksum_of(file);
  check(sum == want.checksum, where, name, " is damaged: its checksum is ", hex(sum), ", the manifest says ",
        hex(want.checksum));
}

}  // namespace

std::string Name::text() const { return attempt ? str(kPrefix, step, ".", attempt) : str(kPrefix, step); }

std::optional<Name> parse_name(const std::string& text) {
  std::string_view rest = text;
  if (rest.substr(0, std::strlen(kPrefix)) != kPrefix) return std::nullopt;
  rest.remove_prefix(std::strlen(kPrefix));
  size_t dot = rest.find('.');
  auto step = parse_number(rest.substr(0, dot));
  auto attempt = dot == rest.npos ? std::optional<int64_t>(0) : parse_number(rest.substr(dot + 1));
  if (!step || !attempt || (dot != rest.npos && *attempt == 0)) return std::nullopt;
  return Name{*step, *attempt};
}

std::vector<Name> list(const std::string& dir) {
  std::vector<Name> names;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error))
    if (auto name = parse_name(at->path().filename())) names.push_back(*name);
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

std::optional<Name> read_latest(const std::string& dir) {
  if (!fs::exists(dir + "/latest")) return std::nullopt;
  std::string text = read_text(dir + "/latest", 100);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return parse_name(text);
}

void write(const std::string& dir, const Snapshot& snapshot, int64_t step, int64_t keep_last) {
  make_folders(dir);
  Name name = free_name(dir, step);
  std::string temporary = str(dir, "/", name.text(), kTemporary, long(getpid()));
  remove_checkpoint(temporary);  // of a process that had our number
  NewFolder folder(temporary);
  Manifest manifest{step, {}, snapshot.parts, snapshot.values};
  for (size_t i = 0; i < snapshot.shards.size(); ++i)
    manifest.shards.push_back(write_shard(temporary + "/" + shard_name(i), snapshot, snapshot.shards[i]));
  write_text(temporary + "/" + kManifestName, write_manifest(manifest));
  folder.become(dir + "/" + name.text());

  tarn::detail::AtomicFile latest(dir + "/latest", kWhat);
  std::string line = name.text() + "\n";
  latest.write(line.data(), line.size());
  latest.commit();
  prune(dir, name, keep_last);
}

Read read(const std::string& path) {
  std::string where = "checkpoint: " + path + ": ";
  check(fs::is_directory(path), where, "there is no such folder");
  std::string manifest_path = path + "/" + kManifestName;
  check(fs::exists(manifest_path), where, kManifestName, " is missing");
  Manifest manifest = parse_manifest(read_text(manifest_path, kMaxManifestBytes), where);
  Read result;
  result.step = manifest.step;
  result.contents.parts = std::move(manifest.parts);
  result.contents.values = std::move(manifest.values);
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    std::string name = shard_name(i), file = path + "/" + name;
    verify_shard(file, name, manifest.shards[i], where);
    result.contents.tensors.merge(safetensors::load(file).tensors);
  }
  return result;
}

}  // namespace tarn::inline v1::checkpoint::detail
