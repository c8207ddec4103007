// Tests with several ranks. Each rank is a process of its own: the test program starts itself again for the
// same test case, with a rank in the environment. The parent serves the store.
//
//   RANKS_TEST_CASE(2, "all_reduce sums over the ranks") {
//     Tensor t = full({3}, rank + 1.0);
//     group->allreduce(t)->wait();
//     CHECK_CLOSE(t, full({3}, 3.0));
//   }
//
// The body runs in the children, with `rank` and `group` at hand; the parent checks that all of them passed.
// Names of such cases have no comma and no bracket, since the child gets its case by name.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tarn/distributed/distributed.h>
#include <tarn/distributed/store.h>
#include <tarn/tests/absent.h>
#include <tarn/tests/support.h>
#include <tarn/tests/temp_dir.h>

namespace tarn::testing {

using Environment = std::map<std::string, std::string>;

// Whether this process is a rank, and which part of a case with several it is to run.
bool is_rank();
int own_rank();
std::string rank_variable(const char* name);

// Ranks 0 to `count` - 1 of the case that runs now.
class Ranks {
 public:
  // `serve_store`: the parent does; else rank 0, on a port that is free now.
  explicit Ranks(int count, const Environment& more = {}, bool serve_store = true);
  ~Ranks();
  pid_t pid(int rank) const { return pids_[size_t(rank)]; }
  // wait()'s status. A rank that takes longer than a minute is killed.
  int finish(int rank);
  std::string output(int rank) const;
  uint16_t port() const { return port_; }
  // Every rank ended with success; the output of those that did not is shown.
  void expect_success();

 private:
  void start(int rank, Environment environment);

  TempDir folder_;
  std::unique_ptr<distributed::TCPStore> store_;
  uint16_t port_;
  std::vector<pid_t> pids_;
  std::vector<int> statuses_;
};

// In a rank: the group of all.
std::shared_ptr<distributed::ProcessGroup> join(std::chrono::milliseconds timeout = std::chrono::seconds(30),
                                                bool shared_memory = true);

// In a rank: every rank has these bits.
void check_same_on_all(distributed::ProcessGroup& group, const Tensor& t);

// The case fails here and now: for what a rank needs to go on.
uint16_t free_port();

}  // namespace tarn::testing

#define RANKS_TEST_CASE(count, ...) TARN_RANKS_CASE_NAMED(TARN_RANKS_NAME(__LINE__), count, __VA_ARGS__)
#define TARN_RANKS_NAME(line) TARN_RANKS_JOIN(ranks_case_, line)
#define TARN_RANKS_JOIN(a, b) a##b
#define TARN_RANKS_CASE_NAMED(function, count, ...)                                         \
  static void function(int rank, std::shared_ptr<::tarn::distributed::ProcessGroup> group); \
  TEST_CASE(__VA_ARGS__) {                                                                  \
    if (::tarn::testing::absent_gloo()) return;                                             \
    if (::tarn::testing::is_rank())                                                         \
      function(::tarn::testing::own_rank(), ::tarn::testing::join());                       \
    else                                                                                    \
      ::tarn::testing::Ranks(count).expect_success();                                       \
  }                                                                                         \
  static void function([[maybe_unused]] int rank,                                           \
                       [[maybe_unused]] std::shared_ptr<::tarn::distributed::ProcessGroup> group)
