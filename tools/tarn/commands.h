// The subcommands of `tarn`. Each returns the exit status.
#pragma once

#include <string>
#include <vector>

int print_info();

// The compiled kernels on disk: by when they were last used, and away with them.
int list_cache();
int clear_cache();

struct RunOptions {
  int nproc = 1;
  int nnodes = 1, node_rank = 0;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;  // 0: a free one
  double grace = 10;    // seconds from SIGTERM to SIGKILL
  std::vector<std::string> command;
};
// Starts the command `nproc` times and waits for all. Their output comes line by line with the rank before
// it. When one fails, the others are stopped, and its status is returned.
int run_ranks(const RunOptions& options);
