#include <tarn/serialize/safetensors.h>

#include <algorithm>
#include <bit>

#include <tarn/core/fault.h>
#include <tarn/serialize/atomic_file.h>
#include <tarn/serialize/header.h>

namespace tarn::inline v1::safetensors {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

// Wide elements first: every tensor is then aligned to its element size.
std::vector<std::pair<std::string, Tensor>> in_file_order(const std::map<std::string, Tensor>& tensors) {
  std::vector<std::pair<std::string, Tensor>> order;
  for (const auto& [name, tensor] : tensors) {
    check(tensor.defined(), "safetensors: tensor \"", name, "\" is undefined");
    order.emplace_back(name, tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    size_t x = a.second.element_size(), y = b.second.element_size();
    return detail::fault(19) ? x < y : x > y;
  });
  return order;
}

// A bool of another value than 0 and 1 would be undefined behaviour wherever it is read.
void check_bools(const Tensor& tensor, const std::string& name, const std::string& where) {
  if (tensor.dtype() != kBool) return;
  const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i)
    check(bytes[i] <= 1, where, "tensor \"", name, "\": element ", i, " of BOOL is ", int(bytes[i]));
}

}  // namespace

void save(const File& file, const std::string& path) {
  auto order = in_file_order(file.tensors);
  Header header{.entries = {}, .metadata = file.metadata};
  uint64_t offset = 0;
  for (const auto& [name, tensor] : order) {
    header.entries[name] = {tensor.dtype(), tensor.sizes(), offset, offset + tensor.nbytes()};
    offset += tensor.nbytes();
  }
  std::string text = write_header(header);
  uint64_t length = text.size();

  tarn::detail::AtomicFile out(path);
  out.write(&length, sizeof length);
  out.write(text.data(), text.size());
  for (const auto& [name, tensor] : order) {
    Tensor dense = tensor.detach().cpu().contiguous();
    if (dense.numel() > 0) out.write(dense.data_ptr(), dense.nbytes());
  }
  out.commit();
}

File load(const std::string& path) {
  std::string where = "safetensors: " + path + ": ";
  tarn::detail::InputFile in("safetensors", path);
  uint64_t length = 0;
  check(in.size() >= sizeof length, where, "is too short to be one: ", in.size(), " bytes");
  in.read(&length, sizeof length, 0);
  uint64_t rest = in.size() - sizeof length;
  check(length <= kMaxHeaderBytes, where, "header of ", length, " bytes, at most ", kMaxHeaderBytes,
        " are accepted");
  check(length <= rest, where, "header of ", length, " bytes in a file of ", in.size());
  std::string text(length, '\0');
  in.read(text.data(), length, sizeof length);

  Header header = parse_header(text, rest - length, where);
  File file;
  file.metadata = std::move(header.metadata);
  for (const auto& [name, entry] : header.entries) {
    Tensor tensor = tarn::detail::make_tensor(entry.sizes, entry.dtype);
    if (tensor.numel() > 0) in.read(tensor.data_ptr(), tensor.nbytes(), sizeof length + length + entry.begin);
    check_bools(tensor, name, where);
    file.tensors.emplace(name, std::move(tensor));
  }
  return file;
}

}  // namespace tarn::inline v1::safetensors
