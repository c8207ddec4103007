// tarn: what this build can do, and starting programs on several ranks.
//
//   tarn info
//   tarn cache list
//   tarn run --nproc 2 build/release/examples/resnet/resnet --epochs 1
#include <tarn/core/error.h>
#include <CLI/CLI.hpp>
#include <cstdio>

#include <tarn/tools/tarn/commands.h>

namespace {

constexpr const char* kRunHelp =
    "tarn run [OPTIONS] PROGRAM [ARGUMENT...]: starts a program on several ranks of this host.\n"
    "Each gets torchrun's variables: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, "
    "MASTER_PORT; and\n"
    "OMP_NUM_THREADS, its share of the CPUs, unless that is set. If a rank fails, the others get SIGTERM, "
    "then\n"
    "SIGKILL, and its exit status is that of tarn run.";

void add_run(CLI::App& app, RunOptions& o) {
  CLI::App* run = app.add_subcommand("run", kRunHelp);
  run->add_option("--nproc,--nproc-per-node,--nproc_per_node", o.nproc, "ranks on this host")
      ->check(CLI::Range(1, 4096));
  run->add_option("--nnodes", o.nnodes, "hosts; run the same command on each")->check(CLI::Range(1, 100000));
  run->add_option("--node-rank,--node_rank", o.node_rank, "which of the hosts this is")
      ->check(CLI::Range(0, 99999));
  run->add_option("--master-addr,--master_addr", o.master_addr, "host 0");
  run->add_option("--master-port,--master_port", o.master_port, "a port of host 0; 0: a free one")
      ->check(CLI::Range(0, 65535));
  run->add_option("--grace", o.grace, "seconds from SIGTERM to SIGKILL")->check(CLI::Range(0.0, 1e6));
  for (CLI::Option* option : run->get_options()) option->capture_default_str();
  // From the program on, everything is the program's.
  run->prefix_command();
}

std::vector<std::string> command_of(const CLI::App& app) {
  std::vector<std::string> command = app.get_subcommand("run")->remaining();
  if (!command.empty() && command[0] == "--") command.erase(command.begin());
  tarn::check(!command.empty(), "tarn run: which program? tarn run --nproc 2 PROGRAM [ARGUMENT...]");
  tarn::check(command[0][0] != '-', "tarn run: there is no option ", command[0], "; see tarn run --help");
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tarn's command: tells what this build can do, starts programs on several ranks.");
  app.require_subcommand(1);
  RunOptions run;
  app.add_subcommand("info", "Prints version, CPU, GPUs, libraries and threads.");
  add_run(app, run);
  CLI::App* cache = app.add_subcommand("cache", "The compiled kernels on disk.");
  cache->require_subcommand(1);
  cache->add_subcommand("list", "Shows them, the last used first.");
  cache->add_subcommand("clear", "Deletes them.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  }
  try {
    if (app.got_subcommand("info")) return print_info();
    if (app.got_subcommand("cache")) return cache->got_subcommand("list") ? list_cache() : clear_cache();
    run.command = command_of(app);
    return run_ranks(run);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
