#include <tarn/nn/modules/linear.h>

#include <cmath>
#include <ostream>

#include <tarn/core/ops/creation.h>
#include <tarn/nn/functional.h>
#include <tarn/nn/init.h>
#include <tarn/nn/modules/in_module.h>

namespace tarn::inline v1::nn {

LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) { reset(); }

void LinearImpl::reset() {
  check(options.in_features() >= 0 && options.out_features() >= 0,
        "Linear: in_features and out_features must be at least 0, got ", options.in_features(), " and ",
        options.out_features());
  weight = register_parameter("weight", tarn::empty({options.out_features(), options.in_features()}));
  bias = options.bias() ? tarn::empty({options.out_features()}) : Tensor();
  bias = register_parameter("bias", bias);
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  double bound = options.in_features() > 0 ? 1 / std::sqrt(double(options.in_features())) : 0;
  init::uniform_(bias, -bound, bound);
}

void LinearImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Linear(in_features=" << options.in_features()
      << ", out_features=" << options.out_features() << ", bias=" << (options.bias() ? "true" : "false")
      << ")";
}

Tensor LinearImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return functional::linear(input, weight, bias); });
}

void IdentityImpl::pretty_print(std::ostream& out) const { out << "tarn::nn::Identity()"; }

void FlattenImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Flatten(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim() << ")";
}

Tensor FlattenImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return input.flatten(options.start_dim(), options.end_dim()); });
}

void UnflattenImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Unflatten(dim=" << options.dim() << ", unflattened_size=" << str(options.sizes()) << ")";
}

Tensor UnflattenImpl::forward(const Tensor& input) {
  return in_module(*this, [&] { return input.unflatten(options.dim(), options.sizes()); });
}

EmbeddingImpl::EmbeddingImpl(const EmbeddingOptions& options_) : options(options_) { reset(); }

void EmbeddingImpl::reset() {
  const int64_t rows = options.num_embeddings(), width = options.embedding_dim();
  check(rows >= 0 && width >= 0, "Embedding: num_embeddings and embedding_dim must be at least 0, got ", rows,
        " and ", width);
  if (std::optional<int64_t>& padding = options.padding_idx(); padding) {
    check(*padding >= -rows && *padding < rows, "Embedding: padding_idx ", *padding, " is outside of ", rows,
          " rows");
    if (*padding < 0) *padding += rows;
  }
  if (options._weight().defined()) {
    check(options._weight().sizes() == IntArrayRef({rows, width}), "Embedding: weight has sizes ",
          options._weight().sizes(), ", expected [", rows, ", ", width, "]");
    weight = register_parameter("weight", options._weight());
  } else {
    weight = register_parameter("weight", tarn::empty({rows, width}));
    reset_parameters();
  }
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).zero_();
}

void EmbeddingImpl::pretty_print(std::ostream& out) const {
  out << "tarn::nn::Embedding(num_embeddings=" << options.num_embeddings()
      << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  out << ")";
}

Tensor EmbeddingImpl::forward(const Tensor& input) {
  return in_module(*this, [&] {
    return functional::embedding(input, weight,
                                 functional::EmbeddingFuncOptions().padding_idx(options.padding_idx()));
  });
}

}  // namespace tarn::inline v1::nn
