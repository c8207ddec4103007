// Random numbers. Element i (in row-major order) depends on the generator's seed and offset and on i alone,
// so results are the same for any number of threads and any instruction set. Without a generator,
// default_generator() is used.
#pragma once

#include <optional>

#include <tarn/core/random.h>
#include <tarn/core/tensor.h>

namespace tarn::inline v1 {

// Uniform in [0, 1).
TARN_API Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
TARN_API Tensor rand(IntArrayRef sizes, const Generator& generator, const TensorOptions& options = {});
TARN_API Tensor rand_like(const Tensor& x, const TensorOptions& options = {},
                          std::optional<MemoryFormat> format = {});

// Normal with mean 0 and variance 1.
TARN_API Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
TARN_API Tensor randn(IntArrayRef sizes, const Generator& generator, const TensorOptions& options = {});
TARN_API Tensor randn_like(const Tensor& x, const TensorOptions& options = {},
                           std::optional<MemoryFormat> format = {});

// Integers in [low, high), int64 unless options say otherwise. No value is likelier than another by a
// relative 2^-32 (2^-64 where high - low is over 2^32).
TARN_API Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
TARN_API Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
TARN_API Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const Generator& generator,
                        const TensorOptions& options = {});
TARN_API Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options = {});

// The numbers 0 .. n-1 in random order, int64 unless options say otherwise.
TARN_API Tensor randperm(int64_t n, const TensorOptions& options = {});
TARN_API Tensor randperm(int64_t n, const Generator& generator, const TensorOptions& options = {});

// Normal with the given mean and standard deviation; with tensors, one of each per element, broadcast.
TARN_API Tensor normal(double mean, double std, IntArrayRef sizes, const Generator& generator = {},
                       const TensorOptions& options = {});
TARN_API Tensor normal(const Tensor& mean, double std = 1, const Generator& generator = {});
TARN_API Tensor normal(double mean, const Tensor& std, const Generator& generator = {});
TARN_API Tensor normal(const Tensor& mean, const Tensor& std, const Generator& generator = {});

// 1 with probability p, else 0. Of a tensor: p is its value at each element, or the number given.
TARN_API Tensor bernoulli(const Tensor& p, const Generator& generator = {});
TARN_API Tensor bernoulli(const Tensor& x, double p, const Generator& generator = {});

// Numbers of categories, Long: of each row of weights (N) or (rows, N) as many as num_samples. Weights need
// not sum to 1. Without replacement no category comes twice in a row.
TARN_API Tensor multinomial(const Tensor& x, int64_t num_samples, bool replacement = false,
                            const Generator& generator = {});
// Poisson counts with these means, in their dtype.
TARN_API Tensor poisson(const Tensor& rates, const Generator& generator = {});
// The number of successes in `count` trials (rounded down) with probability `prob` each; both broadcast.
TARN_API Tensor binomial(const Tensor& count, const Tensor& prob, const Generator& generator = {});

// Zeroes each element with probability p and scales the others by 1 / (1 - p). x itself if p is 0 or `train`
// is false. The mask is drawn again for the gradient instead of being kept.
TARN_API Tensor dropout(const Tensor& x, double p, bool train);
TARN_API Tensor& dropout_(const Tensor& x, double p, bool train);

}  // namespace tarn::inline v1
