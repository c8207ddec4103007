// The store, who a process is by its environment, and what goes wrong before ranks have met.
#include <cstdlib>
#include <thread>

#include <tarn/distributed/environment.h>
#include <tarn/distributed/socket.h>
#include <tarn/distributed/store_server.h>
#include <tarn/tests/distributed/ranks.h>

namespace tarn {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using distributed::Store;
using distributed::TCPStore;
using distributed::TCPStoreOptions;

Store::Bytes bytes(const std::string& text) { return Store::Bytes(text.begin(), text.end()); }

TEST_CASE("a store gives to one client what another has set") {
  TCPStore server("127.0.0.1", {.port = 0, .is_server = true});
  TCPStore client("localhost", {.port = server.port()});
  server.set("a", std::string("one\0two", 7));
  CHECK(client.get_text("a") == std::string("one\0two", 7));
  CHECK(client.add("n", 5) == 5);
  CHECK(server.add("n", -7) == -2);
  CHECK(server.get_text("n") == "-2");
  CHECK(client.check({"a", "n"}));
  CHECK(!client.check({"a", "other"}));
  CHECK(client.delete_key("a"));
  CHECK(!client.delete_key("a"));
  CHECK(!server.check({"a"}));

  CHECK(client.compare_set("c", {}, bytes("first")) == bytes("first"));
  CHECK(client.compare_set("c", bytes("other"), bytes("second")) == bytes("first"));
  CHECK(client.compare_set("c", bytes("first"), bytes("second")) == bytes("second"));
  std::string large(3 << 20, 'x');
  client.set("large", large);
  CHECK(server.get_text("large") == large);
}

TEST_CASE("a store's reader waits for a key that comes later") {
  TCPStore server("127.0.0.1", {.port = 0, .is_server = true});
  TCPStore client("127.0.0.1", {.port = server.port()});
  std::thread writer([&] {
    std::this_thread::sleep_for(30ms);
    server.set("late", "here");
  });
  CHECK(client.get_text("late") == "here");
  writer.join();
  CHECK(!client.wait_for({"never"}, 20ms));
  // A wait that was given up leaves nothing behind.
  server.set("never", "now");
  CHECK(client.get_text("never") == "now");
  CHECK_ERROR(client.wait({"late", "x", "y"}, 20ms), "store: keys did not come within 0.02 s: x, y");
}

TEST_CASE("a prefix store keeps groups apart") {
  auto store = std::make_shared<TCPStore>("127.0.0.1", TCPStoreOptions{.port = 0, .is_server = true});
  distributed::PrefixStore a("a", store), b("b", store);
  a.set("key", "of a");
  CHECK(!b.check({"key"}));
  CHECK(store->get_text("a/key") == "of a");
}

TEST_CASE("a port in use is named") {
  TCPStore server("127.0.0.1", {.port = 0, .is_server = true});
  const std::string error =
      str("init_process_group: port ", int(server.port()),
          " on 127.0.0.1 is in use by another program; set MASTER_PORT, or --master-port of tarn run, to a "
          "free one");
  CHECK_ERROR(TCPStore("127.0.0.1", {.port = server.port(), .is_server = true}), error);
  if (!distributed::is_gloo_available()) return;
  CHECK_ERROR(distributed::init_process_group(
                  "gloo", 10s,
                  {.init_method = str("tcp://127.0.0.1:", int(server.port())), .world_size = 2, .rank = 0}),
              error);
  CHECK(!distributed::is_initialized());
}

TEST_CASE("a server that is no store and a port where nobody listens are errors in time") {
  auto silent = distributed::detail::listen_on({"127.0.0.1", 0});
  uint16_t port = distributed::detail::port_of(silent);
  CHECK_ERROR(
      TCPStore("127.0.0.1", {.port = port, .timeout = 100ms}),
      str("init_process_group: no store answers on 127.0.0.1:", int(port),
          " within 0.1 s: no answer within the timeout; rank 0 may not have started, or another program "
          "has the port"));
  port = free_port();
  CHECK_ERROR(
      TCPStore("127.0.0.1", {.port = port, .timeout = 100ms}),
      str("init_process_group: no store answers on 127.0.0.1:", int(port),
          " within 0.1 s: Connection refused; rank 0 may not have started, or another program has the port"));
}

TEST_CASE("a store lives through clients that talk nonsense") {
  using namespace distributed::detail;
  TCPStore server("127.0.0.1", {.port = 0, .is_server = true, .timeout = 2s});
  for (int i = 0; i < 200; ++i) {
    auto deadline = Clock::now() + 1s;
    Descriptor client = connect_to({"127.0.0.1", server.port()}, deadline);
    std::string text(size_t(i % 40), 0);
    uint32_t magic = kMagic;
    if (i % 2)
      text.insert(0, std::string(1, char(kValidate)) + std::string(reinterpret_cast<char*>(&magic), 4));
    for (size_t k = i % 2 ? 5 : 0; k < text.size(); ++k) text[k] = char((i * 131 + int(k) * 29) % 256);
    send_all(client, text.data(), text.size(), deadline);
  }
  server.set("alive", "yes");
  CHECK(server.get_text("alive") == "yes");
}

// Sets variables for one test and takes them back.
class Variables {
 public:
  explicit Variables(const Environment& variables) {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID",
                             "PMI_RANK", "PMI_SIZE", "TORCHELASTIC_USE_AGENT_STORE", "SLURM_JOB_ID",
                             "SLURM_STEP_NODELIST", "OMPI_COMM_WORLD_RANK"})
      set(name, nullptr);
    for (const auto& [name, value] : variables) set(name, value.c_str());
  }
  ~Variables() {
    for (auto& [name, value] : before_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

 private:
  void set(const std::string& name, const char* value) {
    const char* old = std::getenv(name.c_str());
    before_.emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? setenv(name.c_str(), value, 1) : unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_CASE("the ranks of torchrun and mpirun and srun are found in the environment") {
  {
    Variables none(Environment{});
    CHECK(!distributed::launch_from_environment());
    CHECK(!distributed::is_launched());
  }
  {
    Variables torchrun({{"RANK", "3"},
                        {"WORLD_SIZE", "8"},
                        {"LOCAL_RANK", "1"},
                        {"MASTER_ADDR", "node1"},
                        {"MASTER_PORT", "1234"},
                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    auto launch = distributed::launch_from_environment().value();
    CHECK(launch.rank == 3);
    CHECK(launch.world_size == 8);
    CHECK(launch.local_rank == 1);
    CHECK(launch.master_addr == "node1");
    CHECK(launch.master_port == 1234);
    CHECK(launch.store_is_served);
  }
  {
    Variables mpirun({{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    auto launch = distributed::launch_from_environment().value();
    CHECK(launch.rank == 1);
    CHECK(launch.master_addr == "127.0.0.1");
    CHECK(launch.master_port == 29500);
    CHECK(launch.launcher == std::string("mpirun"));
  }
  {
    Variables srun({{"SLURM_PROCID", "5"},
                    {"SLURM_STEP_NUM_TASKS", "16"},
                    {"SLURM_LOCALID", "1"},
                    {"SLURM_STEP_NODELIST", "gpu[07-10,12],other"},
                    {"SLURM_JOB_ID", "100042"}});
    auto launch = distributed::launch_from_environment().value();
    CHECK(launch.rank == 5);
    CHECK(launch.local_rank == 1);
    CHECK(launch.master_addr == "gpu07");
    CHECK(launch.master_port == 20042);
  }
  {
    Variables batch_script(Environment{{"SLURM_PROCID", "0"}});
    CHECK(!distributed::launch_from_environment());
  }
}

TEST_CASE("half an environment is an error that names the variable") {
  {
    Variables half(Environment{{"RANK", "0"}});
    CHECK_ERROR(
        distributed::launch_from_environment(),
        "init_process_group: RANK is set, but not WORLD_SIZE; start the program with tarn run, torchrun, "
        "mpirun or srun");
  }
  {
    Variables word(Environment{{"RANK", "first"}, {"WORLD_SIZE", "2"}});
    CHECK_ERROR(distributed::launch_from_environment(),
                "init_process_group: RANK must be a number from 0 to 1048576, got 'first'");
  }
  {
    Variables none(Environment{});
    CHECK_ERROR(
        distributed::init_process_group(),
        "init_process_group: RANK and WORLD_SIZE are not set; start the program with tarn run, torchrun, "
        "mpirun or srun, or give rank, world_size and init_method");
  }
  CHECK_ERROR(distributed::init_process_group("mpi"),
              "init_process_group: backend must be gloo or nccl, got 'mpi'");
  CHECK_ERROR(distributed::default_group(),
              "distributed: there is no default group; call init_process_group() first");
}

TEST_CASE("the first host of Slurm's lists") {
  CHECK(distributed::detail::first_host("node7") == "node7");
  CHECK(distributed::detail::first_host("node7,node8") == "node7");
  CHECK(distributed::detail::first_host("n[7-9,12],o3") == "n7");
  CHECK(distributed::detail::first_host("rack[1-2]n[4,5]") == "rack1n4");
  CHECK(distributed::detail::first_host("a,n[1-2]") == "a");
}

}  // namespace
}  // namespace tarn
