// Linear, and the modules that only reshape.
#pragma once

#include <tarn/nn/holder.h>
#include <tarn/nn/options.h>

namespace tarn::inline v1::nn {

// (*, in_features) -> (*, out_features): x W^T + b. W and b start uniform within 1 / sqrt(in_features).
class TARN_API LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);

  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);

  LinearOptions options;
  Tensor weight;  // (out, in)
  Tensor bias;    // (out), or undefined
};
TARN_MODULE(Linear);

class TARN_API IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input) { return input; }
};
TARN_MODULE(Identity);

// Joins dims start_dim..end_dim into one; by default all but the first.
class TARN_API FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);
  FlattenOptions options;
};
TARN_MODULE(Flatten);

// Splits a dim into several sizes; one of them may be -1.
class TARN_API UnflattenImpl : public Cloneable<UnflattenImpl> {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes)
      : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))) {}
  explicit UnflattenImpl(const UnflattenOptions& options) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);
  UnflattenOptions options;
};
TARN_MODULE(Unflatten);

// Indices of any shape -> their rows of weight, shape + (embedding_dim). Rows start normal, the padding row
// zero.
class TARN_API EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input);
  EmbeddingOptions options;
  Tensor weight;  // (num_embeddings, embedding_dim)
};
TARN_MODULE(Embedding);

}  // namespace tarn::inline v1::nn
