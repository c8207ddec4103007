#include <tarn/data/idx.h>

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <tarn/core/fault.h>

namespace tarn::inline v1::data {

namespace {

constexpr size_t kChunk = 64 << 10;
// One byte of deflate's output costs at least 1/1032 of a byte of input (zlib, "Maximum compression factor").
constexpr uint64_t kMaxInflation = 1032;

std::string hex(uint32_t value) {
  static const char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text.push_back(digits[value >> shift & 15]);
  return text;
}

// The bytes of a file, inflated if it is a gzip file. read() gives what was asked for or throws.
class Source {
 public:
  explicit Source(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    check(file_.is_open(), "idx: ", path, ": cannot open: ", std::strerror(errno));
    std::error_code error;
    file_size_ = std::filesystem::file_size(path, error);
    check(!error, "idx: ", path, ": cannot tell its size: ", error.message());
    fill();
    gzipped_ = available_ >= 2 && next_[0] == 0x1f && next_[1] == 0x8b;
    if (gzipped_) ensure(inflateInit2(&inflate_, 15 + 16) == Z_OK, "inflateInit2 failed");
  }
  ~Source() {
    if (gzipped_) inflateEnd(&inflate_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("idx: ", path_, ": byte ", position_, gzipped_ ? " after inflating: " : ": ", parts...);
  }

  void read(void* to, size_t count) {
    size_t got = gzipped_ ? inflate_some(to, count) : copy_some(to, count);
    position_ += got;
    if (got < count) refuse("the file ends, ", count - got, " bytes are missing");
  }

  // Refuses a total length that the file cannot have. A gzip file says its length modulo 2^32 in its last
  // four bytes.
  void check_total(uint64_t total) {
    if (tarn::detail::fault(42)) return;
    if (!gzipped_) {
      if (total != file_size_) refuse("the header asks for ", total, " bytes, the file has ", file_size_);
      return;
    }
    if (total / kMaxInflation > file_size_)
      refuse("the header asks for ", total, " bytes, which a gzip file of ", file_size_,
             " bytes cannot hold");
    if (file_size_ < 18 || uint32_t(total) != trailer_length())
      refuse("the header asks for ", total, " bytes, the gzip trailer says ", trailer_length());
  }

  // After the last element: nothing may follow, and the checksum must be right (zlib checks it at the
  // stream's end).
  void check_end() {
    unsigned char extra;
    if (gzipped_ ? inflate_some(&extra, 1) : copy_some(&extra, 1))
      refuse("more bytes follow the last element");
    if (gzipped_ && !ended_) refuse("the gzip trailer is missing");
    if (available_ > 0 || (fill(), available_ > 0)) refuse("more bytes follow the gzip stream");
  }

 private:
  void fill() {
    file_.read(reinterpret_cast<char*>(buffer_), kChunk);
    available_ = size_t(file_.gcount());
    next_ = buffer_;
  }

  size_t copy_some(void* to, size_t count) {
    size_t got = 0;
    while (got < count) {
      if (available_ == 0 && (fill(), available_ == 0)) break;
      size_t n = std::min(count - got, available_);
      std::memcpy(static_cast<char*>(to) + got, next_, n);
      got += n, next_ += n, available_ -= n;
    }
    return got;
  }

  // In pieces, since zlib counts in 32 bits.
  size_t inflate_some(void* to, size_t count) {
    size_t got = 0;
    while (got < count && !ended_) {
      if (available_ == 0 && (fill(), available_ == 0)) break;
      size_t room = std::min(count - got, size_t(1) << 30);
      inflate_.next_in = const_cast<Bytef*>(next_);  // zlib only reads it
      inflate_.avail_in = uInt(available_);
      inflate_.next_out = static_cast<Bytef*>(to) + got;
      inflate_.avail_out = uInt(room);
      int status = inflate(&inflate_, Z_NO_FLUSH);
      got += room - inflate_.avail_out;
      available_ = inflate_.avail_in;
      next_ = inflate_.next_in;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        position_ += got;
        refuse("the gzip data is damaged: ", inflate_.msg ? inflate_.msg : "unknown error");
      }
    }
    return got;
  }

  uint32_t trailer_length() {
    std::ifstream file(path_, std::ios::binary);
    unsigned char b[4] = {};
    file.seekg(-4, std::ios::end);
    file.read(reinterpret_cast<char*>(b), 4);
    return b[0] | uint32_t(b[1]) << 8 | uint32_t(b[2]) << 16 | uint32_t(b[3]) << 24;
  }

  std::string path_;
  std::ifstream file_;
  uint64_t file_size_ = 0;
  uint64_t position_ = 0;
  bool gzipped_ = false;
  bool ended_ = false;
  z_stream inflate_ = {};
  const Bytef* next_ = nullptr;
  size_t available_ = 0;
  unsigned char buffer_[kChunk];
};

struct IdxType {
  ScalarType dtype;
  uint8_t code;
};
constexpr IdxType kTypes[] = {{kByte, 0x08}, {kChar, 0x09},  {kShort, 0x0b},
                              {kInt, 0x0c},  {kFloat, 0x0d}, {kDouble, 0x0e}};

uint8_t code_of(ScalarType dtype) {
  for (const IdxType& type : kTypes)
    if (type.dtype == dtype) return type.code;
  fail("idx: there are no files of dtype ", dtype);
}

uint32_t read_big_endian(Source& source) {
  unsigned char b[4];
  source.read(b, 4);
  return uint32_t(b[0]) << 24 | uint32_t(b[1]) << 16 | uint32_t(b[2]) << 8 | b[3];
}

Dims read_header(Source& source, ScalarType dtype, int64_t rank) {
  uint32_t expected = uint32_t(code_of(dtype)) << 8 | uint32_t(rank);
  uint32_t magic = read_big_endian(source);
  if (magic != expected)
    source.refuse("magic is ", hex(magic), ", expected ", hex(expected), " for ", dtype, " of rank ", rank);
  Dims sizes(int(rank), 0);
  for (int64_t& size : sizes) size = read_big_endian(source);
  return sizes;
}

// Sizes are below 2^32 and there may be 16 of them.
uint64_t element_bytes(const Source& source, const Dims& sizes, ScalarType dtype) {
  unsigned __int128 bytes = element_size(dtype);
  for (int64_t size : sizes) {
    bytes *= uint64_t(size);
    if (bytes > uint64_t(1) << 48) source.refuse("sizes ", sizes, " are too large");
  }
  return uint64_t(bytes);
}

void swap_bytes(Tensor& values) {
  size_t width = values.element_size();
  if (std::endian::native == std::endian::big || width == 1) return;
  char* bytes = static_cast<char*>(values.data_ptr());
  for (size_t i = 0; i < values.nbytes(); i += width) std::reverse(bytes + i, bytes + i + width);
}

}  // namespace

Tensor read_idx(const std::string& path, ScalarType dtype, int64_t rank) {
  check(rank >= 0 && rank <= kMaxRank, "idx: rank must be 0 to ", kMaxRank, ", got ", rank);
  auto source = std::make_unique<Source>(path);
  Dims sizes = read_header(*source, dtype, rank);
  uint64_t bytes = element_bytes(*source, sizes, dtype);
  source->check_total(4 + 4 * uint64_t(rank) + bytes);
  Tensor values = tarn::detail::make_tensor(sizes, dtype);
  source->read(values.data_ptr(), bytes);
  source->check_end();
  swap_bytes(values);
  return values;
}

}  // namespace tarn::inline v1::data
