// tarn::save and tarn::load, spelled as libtorch's, with safetensors files. A module is stored under
// PyTorch's key names, so that Python's safetensors reads what it would have written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tarn/nn/holder.h>
#include <tarn/nn/module.h>
#include <tarn/optim/optimizer.h>
#include <tarn/serialize/checkpoint.h>
#include <tarn/serialize/safetensors.h>
#include <tarn/serialize/torch_file.h>

namespace tarn::inline v1 {

// One tensor, under the name "tensor".
TARN_API void save(const Tensor& tensor, const std::string& path);
// The file's only tensor.
TARN_API void load(Tensor& tensor, const std::string& path);

// Tensors by position, under the names "0", "1", ...
TARN_API void save(const std::vector<Tensor>& tensors, const std::string& path);
TARN_API void load(std::vector<Tensor>& tensors, const std::string& path);

// A module's state_dict(). load() also reads one that torch.save wrote (.pt, .pth). It copies into the
// module's tensors; an Error lists every missing, unexpected and misshapen key, and leaves the module as it
// was.
TARN_API void save(const nn::Module& module, const std::string& path);
TARN_API void load(nn::Module& module, const std::string& path);

// An optimizer's state_dict(), options included, in PyTorch's layout; load() also reads one that torch.save
// wrote. load() needs
// an optimizer of the same class over parameters of the same shapes.
TARN_API void save(const optim::Optimizer& optimizer, const std::string& path);
TARN_API void load(optim::Optimizer& optimizer, const std::string& path);

template <class M>
void save(const std::shared_ptr<M>& module, const std::string& path) {
  check(module != nullptr, "save: the module is null");
  save(static_cast<const nn::Module&>(*module), path);
}
template <class M>
void load(std::shared_ptr<M>& module, const std::string& path) {
  check(module != nullptr, "load: the module is null; make it first");
  load(static_cast<nn::Module&>(*module), path);
}
template <class M>
void save(const nn::ModuleHolder<M>& module, const std::string& path) {
  save(module.ptr(), path);
}
template <class M>
void load(nn::ModuleHolder<M>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}

}  // namespace tarn::inline v1
