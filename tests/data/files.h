// Files for the reader tests.
#pragma once

#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <tarn/tests/support.h>
#include <tarn/tests/temp_dir.h>

namespace tarn::testing {

inline void write_file(const std::string& path, const std::string& bytes) {
  // Writing over a file is slow: some file systems flush the old one first.
  std::remove(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::string gzipped(const std::string& bytes) {
  z_stream z = {};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, bytes.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = uInt(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = uInt(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

inline std::string big_endian(uint64_t value, int bytes = 4) {
  std::string out;
  for (int i = bytes; i > 0; --i) out.push_back(char(value >> 8 * (i - 1)));
  return out;
}

// An IDX file's bytes: type code, sizes, and elements that count up.
inline std::string idx(uint8_t code, const std::vector<uint32_t>& sizes, size_t element_bytes = 1) {
  std::string out = big_endian(uint32_t(code) << 8 | uint32_t(sizes.size()));
  size_t count = element_bytes;
  for (uint32_t size : sizes) out += big_endian(size), count *= size;
  for (size_t i = 0; i < count; ++i) out.push_back(char(i * 7));
  return out;
}

}  // namespace tarn::testing
