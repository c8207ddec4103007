// Anomaly mode: for finding the op whose gradient goes wrong. Each op of the forward remembers where it was
// called; each gradient that backward computes is looked at, and the first that is not finite is an Error:
//
//   autograd::DetectAnomalyGuard detect;
//   Tensor y = sqrt(x).sum();  // train.cpp:7
//   y.backward();
//   // backward: sqrt gave inf in the gradient of its input 0, of sizes [2]; it was called at train.cpp:7
//
// The guard must cover the forward, too, for the place to be known. It is slow: for debugging.
#pragma once

#include <memory>

#include <tarn/autograd/node.h>
#include <tarn/core/call_site.h>
#include <tarn/core/op.h>

namespace tarn::inline v1 {

namespace autograd {

// The switch, which all threads share, as in libtorch.
struct TARN_API AnomalyMode {
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};

// Anomaly mode for a scope. With check_nan = false, places are remembered but gradients are not looked at.
class TARN_API DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_before_, check_before_;
};
using detect_anomaly = DetectAnomalyGuard;

}  // namespace autograd

namespace detail {

// What a node remembers in anomaly mode.
struct Origin {
  const char* op_name;
  CallSite site;
  std::shared_ptr<const Origin> during;  // of the node whose gradient was being computed
  bool from_finite = false;              // inputs and scalars had finite values
  bool gave_nonfinite = false;           // and an output had not
};

// Called by Node::number().
void remember_origin(Node& node);
// Around the forward computation of a recorded op, whose node is numbered: is it here that values go wrong?
void note_inputs(Node& node, const Args& a);
void note_inputs(Node& node, ArrayRef<const Tensor*> inputs);
void note_outputs(Node& node, const Tensor* outputs, size_t count);

// node.apply(call), watched: errors tell where the op was called, and results that are not finite are errors.
// `roots`: of this backward.
void apply_watched(Node& node, autograd::NodeCall& call, ArrayRef<Edge> roots);

}  // namespace detail

}  // namespace tarn::inline v1
