#include <tarn/serialize/serialize.h>

namespace tarn::inline v1 {

void save(const Tensor& tensor, const std::string& path) {
  safetensors::save({{{"tensor", tensor}}, {}}, path);
}

void load(Tensor& tensor, const std::string& path) {
  safetensors::File file = safetensors::load(path);
  check(file.tensors.size() == 1, "load: ", path, " holds ", file.tensors.size(), " tensors, expected one");
  tensor = file.tensors.begin()->second;
}

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  safetensors::File file;
  for (size_t i = 0; i < tensors.size(); ++i) file.tensors.emplace(str(i), tensors[i]);
  safetensors::save(file, path);
}

void load(std::vector<Tensor>& tensors, const std::string& path) {
  safetensors::File file = safetensors::load(path);
  std::vector<Tensor> loaded;
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    auto found = file.tensors.find(str(i));
    check(found != file.tensors.end(), "load: ", path, " holds ", file.tensors.size(),
          " tensors, but none named \"", i, "\"");
    loaded.push_back(found->second);
  }
  tensors = std::move(loaded);
}

void save(const nn::Module& module, const std::string& path) {
  safetensors::File file;
  for (const auto& item : module.state_dict()) file.tensors.emplace(item.key(), item.value());
  safetensors::save(file, path);
}

void load(nn::Module& module, const std::string& path) {
  nn::StateDict state;
  for (auto& [name, tensor] : safetensors::load(path).tensors) state.insert(name, tensor);
  module.load_state_dict(state);
}

}  // namespace tarn::inline v1
