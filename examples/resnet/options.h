// The demo's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct Options {
  int64_t epochs = 15;
  int64_t batch_size = 128;
  double lr = 0.1;
  int64_t workers = 1;
  int64_t threads = 0;  // 0: one per core
  uint64_t seed = 1;
  std::string device = "cpu";
  bool resume = false;
  std::string data;
  std::string out = "out/resnet";
};

// The options, or the exit status after --help or a bad value, which was then named on stderr.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_status;
};
ParsedOptions parse_options(int argc, char** argv);
