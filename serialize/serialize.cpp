#include <tarn/serialize/serialize.h>

namespace tarn::inline v1 {

namespace {

using State = OrderedDict<std::string, Tensor>;

void save_state(const State& state, const std::string& path) {
  safetensors::File file;
  for (const auto& item : state) file.tensors.emplace(item.key(), item.value());
  safetensors::save(file, path);
}

State load_state(const std::string& path) {
  if (detail::is_torch_file(path)) return load(path).toStateDict();
  State state;
  for (auto& [name, tensor] : safetensors::load(path).tensors) state.insert(name, tensor);
  return state;
}

}  // namespace

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

void save(const nn::Module& module, const std::string& path) { save_state(module.state_dict(), path); }

void load(nn::Module& module, const std::string& path) { module.load_state_dict(load_state(path)); }

void save(const optim::Optimizer& optimizer, const std::string& path) {
  save_state(optimizer.state_dict(), path);
}

void load(optim::Optimizer& optimizer, const std::string& path) {
  bool from_torch = detail::is_torch_file(path);
  optimizer.load_state_dict(from_torch ? detail::optimizer_state(load(path)) : load_state(path));
}

}  // namespace tarn::inline v1
