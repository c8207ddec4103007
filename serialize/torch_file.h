// Reading what torch.save wrote, .pt and .pth, both of its formats (a zip file since PyTorch 1.6). No code is
// run: only tensors, numbers, texts, lists, tuples and dictionaries can come out. Sizes are checked before
// memory is taken, the zip file's checksums while it is read.
#pragma once

#include <tarn/core/ivalue.h>
#include <tarn/optim/optimizer.h>

namespace tarn::inline v1 {

// As Python's torch.load(path, weights_only=True, map_location="cpu"). Tensors that shared memory when they
// were saved do so again. An Error names the file and what is wrong with it; a class that is not plain data
// is named.
TARN_API IValue load(const std::string& path);

// libtorch's name for the same, of a file's bytes.
TARN_API IValue pickle_load(const std::vector<char>& data);

namespace detail {

// Whether a file begins as one of torch.save's does.
bool is_torch_file(const std::string& path);

// A torch.optim state_dict() in the form of Optimizer::state_dict(): paths for keys. Options of PyTorch's own
// machinery (foreach, fused, capturable, differentiable) are left out.
TARN_API optim::Optimizer::State optimizer_state(const IValue& state_dict);

}  // namespace detail

}  // namespace tarn::inline v1
