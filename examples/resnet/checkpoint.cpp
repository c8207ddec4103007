#include "checkpoint.h"

#include <sstream>

namespace {

using State = tarn::OrderedDict<std::string, tarn::Tensor>;
using Tensors = std::map<std::string, tarn::Tensor>;

void put(Tensors& tensors, const std::string& prefix, const State& state) {
  for (const auto& item : state) tensors.emplace(prefix + item.key(), item.value());
}

State take(const Tensors& tensors, const std::string& prefix) {
  State state;
  for (const auto& [name, tensor] : tensors)
    if (name.rfind(prefix, 0) == 0) state.insert(name.substr(prefix.size()), tensor);
  return state;
}

// What decides the numbers of a run, as text.
std::map<std::string, std::string> fingerprint(const Options& options) {
  return {{"--epochs", tarn::str(options.epochs)},
          {"--batch-size", tarn::str(options.batch_size)},
          {"--lr", tarn::str(options.lr)},
          {"--seed", tarn::str(options.seed)}};
}

uint64_t number(const tarn::safetensors::File& file, const std::string& name, const std::string& path) {
  auto found = file.metadata.find(name);
  uint64_t value = 0;
  bool good = found != file.metadata.end() && std::istringstream(found->second) >> value;
  tarn::check(good, path, ": is no checkpoint of this program: it does not say its ", name);
  return value;
}

}  // namespace

void save_checkpoint(const std::string& path, const Training& training, const Options& options) {
  tarn::safetensors::File file;
  put(file.tensors, "model.", training.net->state_dict());
  put(file.tensors, "optimizer.", training.optimizer.state_dict());
  put(file.tensors, "scheduler.", training.scheduler.state_dict());
  file.metadata = fingerprint(options);
  file.metadata["epoch"] = tarn::str(training.finished_epochs);
  file.metadata["generator.seed"] = tarn::str(tarn::default_generator().current_seed());
  file.metadata["generator.offset"] = tarn::str(tarn::default_generator().get_offset());
  tarn::safetensors::save(file, path);
}

void load_checkpoint(const std::string& path, Training& training, const Options& options) {
  tarn::safetensors::File file = tarn::safetensors::load(path);
  int64_t epochs = int64_t(number(file, "epoch", path));
  for (const auto& [name, value] : fingerprint(options))
    tarn::check(file.metadata[name] == value, path, " was made with ", name, " ", file.metadata[name],
                ", now it is ", value, "; give the same, or start without --resume");
  training.net->load_state_dict(take(file.tensors, "model."));
  training.optimizer.load_state_dict(take(file.tensors, "optimizer."));
  training.scheduler.load_state_dict(take(file.tensors, "scheduler."));
  training.finished_epochs = epochs;
  tarn::default_generator().set_current_seed(number(file, "generator.seed", path));
  tarn::default_generator().set_offset(number(file, "generator.offset", path));
}
