// SummaryWriter: event files that TensorBoard shows, with torch.utils.tensorboard's names.
//
//   utils::tensorboard::SummaryWriter writer("runs/first");
//   writer.add_scalar("loss/train", loss.item<float>(), step);
//
// A writer may be used from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tarn/core/tensor.h>

namespace tarn::inline v1::utils::tensorboard {

class TARN_API SummaryWriter {
 public:
  // Makes the folder and a new event file in it. A run that goes on from a checkpoint gives the first step
  // that it does again as `purge_step`: TensorBoard then forgets what an earlier file has from there on.
  explicit SummaryWriter(std::string log_dir, std::optional<int64_t> purge_step = {});
  // Writes out what is buffered; errors are lost here, call close() to see them.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  void add_scalar(const std::string& tag, double value, int64_t global_step);
  // Curves in one chart, each a run of its own in the folder `log_dir`/`main_tag`_`name`, as in PyTorch.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& values,
                   int64_t global_step);
  // (C, H, W) or (H, W) with 1, 3 or 4 channels, uint8 or floats in [0, 1].
  void add_image(const std::string& tag, const Tensor& image, int64_t global_step);
  // How the values of a tensor spread, in bins that grow by a tenth each. NaN and infinity are an Error.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t global_step);

  void flush();
  void close();
  const std::string& log_dir() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::inline v1::utils::tensorboard
