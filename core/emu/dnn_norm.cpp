// cuDNN's batch normalisation on the host: spatial mode, two-pass moments.
#include <tarn/core/emu/dnn.h>

#include <cmath>

using namespace tarn::emu;

namespace {

// x, y (N, C, ...) and per-channel tensors of (1, C, 1, ...), which are float for all data but double.
struct Norm {
  Tensor5 x, y, channels;
  int64_t count;

  Norm(cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t x_desc, cudnnTensorDescriptor_t y_desc,
       cudnnTensorDescriptor_t channel_desc)
      : x(x_desc, "x"), y(y_desc, "y"), channels(channel_desc, "the channels' tensor") {
    if (mode == CUDNN_BATCHNORM_PER_ACTIVATION) throw CallError{false, "per-activation mode is not emulated"};
    Element expected = x.type == Element::F64 ? Element::F64 : Element::F32;
    require(x.type == y.type && x.size == y.size, "x " + x.text() + " and y " + y.text() + " differ");
    bool fits = channels.type == expected && channels.size == std::array<int64_t, 5>{1, x.size[1], 1, 1, 1};
    require(fits, "x " + x.text() + " does not go with channels of " + channels.text());
    count = x.size[0] * x.size[2] * x.size[3] * x.size[4];
  }

  bool wide() const { return x.type == Element::F64; }

  // f(place among the channel's elements, element of x, element of y).
  template <class F>
  void for_channel(int64_t c, F f) const {
    for (int64_t n = 0; n < x.size[0]; ++n)
      for (int64_t z = 0; z < x.size[2]; ++z)
        for (int64_t v = 0; v < x.size[3]; ++v)
          for (int64_t u = 0; u < x.size[4]; ++u) f(x.at(n, c, z, v, u), y.at(n, c, z, v, u));
  }

  double channel(const void* p, int64_t c) const { return load<double>(channels.type, p, c); }
  void set_channel(void* p, int64_t c, double value) const { store(channels.type, p, c, value); }

  void moments(const void* px, int64_t c, double* mean, double* variance) const {
    double sum = 0, squares = 0;
    for_channel(c, [&](int64_t at, int64_t) { sum += load<double>(x.type, px, at); });
    *mean = sum / double(count);
    for_channel(c, [&](int64_t at, int64_t) {
      double d = load<double>(x.type, px, at) - *mean;
      squares += d * d;
    });
    *variance = squares / double(count);
  }
};

struct UseList {
  std::vector<Use> list;
  void read(const void* p, const Tensor5& t, int argument) {
    list.push_back({p, false, true, argument, t.bytes()});
  }
  void write(const void* p, const Tensor5& t, int argument) {
    list.push_back({p, true, true, argument, t.bytes()});
  }
};

}  // namespace

extern "C" {

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t y_desc, void* y,
    const cudnnTensorDescriptor_t channel_desc, const void* scale, const void* bias, double factor,
    void* running_mean, void* running_variance, double epsilon, void* saved_mean, void* saved_inverse) {
  return guarded_dnn("cudnnBatchNormalizationForwardTraining", [&] {
    check_handle(handle);
    Norm norm(mode, x_desc, y_desc, channel_desc);
    require(x && y && scale && bias, "an operand is null");
    require(!running_mean == !running_variance && !saved_mean == !saved_inverse,
            "of the running and of the saved moments either both or none are given");
    require(epsilon >= CUDNN_BN_MIN_EPSILON, format("epsilon is %g", epsilon));
    double a = scale_of(alpha, norm.x.type), b = scale_of(beta, norm.x.type);
    UseList uses;
    uses.read(x, norm.x, 5), uses.write(y, norm.y, 7);
    uses.read(scale, norm.channels, 9), uses.read(bias, norm.channels, 10);
    if (running_mean)
      uses.write(running_mean, norm.channels, 12), uses.write(running_variance, norm.channels, 13);
    if (saved_mean) uses.write(saved_mean, norm.channels, 15), uses.write(saved_inverse, norm.channels, 16);
    submit_call(handle->stream, "cudnnBatchNormalizationForwardTraining", std::move(uses.list), [=] {
      for (int64_t c = 0; c < norm.x.size[1]; ++c) {
        double mean, variance;
        norm.moments(x, c, &mean, &variance);
        double inverse = 1 / std::sqrt(variance + epsilon), g = norm.channel(scale, c),
               h = norm.channel(bias, c);
        norm.for_channel(c, [&](int64_t from, int64_t to) {
          blend(norm.y.type, y, to, (load<double>(norm.x.type, x, from) - mean) * inverse * g + h, a, b);
        });
        if (running_mean) {
          double unbiased =
              norm.count > 1 ? variance * double(norm.count) / double(norm.count - 1) : variance;
          norm.set_channel(running_mean, c, norm.channel(running_mean, c) * (1 - factor) + mean * factor);
          norm.set_channel(running_variance, c,
                           norm.channel(running_variance, c) * (1 - factor) + unbiased * factor);
        }
        if (saved_mean) norm.set_channel(saved_mean, c, mean), norm.set_channel(saved_inverse, c, inverse);
      }
    });
  });
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                      const void* alpha, const void* beta,
                                                      const cudnnTensorDescriptor_t x_desc, const void* x,
                                                      const cudnnTensorDescriptor_t y_desc, void* y,
                                                      const cudnnTensorDescriptor_t channel_desc,
                                                      const void* scale, const void* bias, const void* mean,
                                                      const void* variance, double epsilon) {
  return guarded_dnn("cudnnBatchNormalizationForwardInference", [&] {
    check_handle(handle);
    Norm norm(mode, x_desc, y_desc, channel_desc);
    require(x && y && scale && bias && mean && variance, "an operand is null");
    double a = scale_of(alpha, norm.x.type), b = scale_of(beta, norm.x.type);
    UseList uses;
    uses.read(x, norm.x, 5), uses.write(y, norm.y, 7);
    uses.read(scale, norm.channels, 9), uses.read(bias, norm.channels, 10);
    uses.read(mean, norm.channels, 11), uses.read(variance, norm.channels, 12);
    submit_call(handle->stream, "cudnnBatchNormalizationForwardInference", std::move(uses.list), [=] {
      for (int64_t c = 0; c < norm.x.size[1]; ++c) {
        double inverse = 1 / std::sqrt(norm.channel(variance, c) + epsilon);
        double g = norm.channel(scale, c), h = norm.channel(bias, c), m = norm.channel(mean, c);
        norm.for_channel(c, [&](int64_t from, int64_t to) {
          blend(norm.y.type, y, to, (load<double>(norm.x.type, x, from) - m) * inverse * g + h, a, b);
        });
      }
    });
  });
}

cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha_data, const void* beta_data,
    const void* alpha_param, const void* beta_param, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnTensorDescriptor_t dy_desc, const void* dy, const cudnnTensorDescriptor_t dx_desc, void* dx,
    const cudnnTensorDescriptor_t channel_desc, const void* scale, void* dscale, void* dbias, double epsilon,
    const void* saved_mean, const void* saved_inverse) {
  return guarded_dnn("cudnnBatchNormalizationBackward", [&] {
    check_handle(handle);
    Norm norm(mode, x_desc, dy_desc, channel_desc);
    Tensor5 out(dx_desc, "dx");
    require(out.type == norm.x.type && out.size == norm.x.size,
            "x " + norm.x.text() + " and dx " + out.text() + " differ");
    require(x && dy && dx && scale && dscale && dbias, "an operand is null");
    require(!saved_mean == !saved_inverse, "of the saved moments either both or none are given");
    double ad = scale_of(alpha_data, norm.x.type), bd = scale_of(beta_data, norm.x.type);
    double ap = scale_of(alpha_param, norm.x.type), bp = scale_of(beta_param, norm.x.type);
    UseList uses;
    uses.read(x, norm.x, 7), uses.read(dy, norm.y, 9), uses.write(dx, out, 11),
        uses.read(scale, norm.channels, 13);
    uses.write(dscale, norm.channels, 14), uses.write(dbias, norm.channels, 15);
    if (saved_mean) uses.read(saved_mean, norm.channels, 17), uses.read(saved_inverse, norm.channels, 18);
    Norm target = norm;  // walks x and dx together
    target.y = out;
    submit_call(handle->stream, "cudnnBatchNormalizationBackward", std::move(uses.list), [=] {
      for (int64_t c = 0; c < norm.x.size[1]; ++c) {
        double mean, variance, sum = 0, dot = 0;
        norm.moments(x, c, &mean, &variance);
        double inverse = 1 / std::sqrt(variance + epsilon);
        if (saved_mean) mean = norm.channel(saved_mean, c), inverse = norm.channel(saved_inverse, c);
        std::vector<double> gradients;  // dx may be dy
        gradients.reserve(norm.count);
        norm.for_channel(c, [&](int64_t at, int64_t dy_at) {
          double g = load<double>(norm.y.type, dy, dy_at);
          gradients.push_back(g);
          sum += g;
          dot += g * (load<double>(norm.x.type, x, at) - mean) * inverse;
        });
        double g = norm.channel(scale, c), n = double(norm.count);
        size_t i = 0;
        target.for_channel(c, [&](int64_t at, int64_t to) {
          double xhat = (load<double>(norm.x.type, x, at) - mean) * inverse;
          blend(out.type, dx, to, g * inverse * (gradients[i++] - sum / n - xhat * dot / n), ad, bd);
        });
        blend(norm.channels.type, dscale, c, dot, ap, bp);
        blend(norm.channels.type, dbias, c, sum, ap, bp);
      }
    });
  });
}

}  // extern "C"
