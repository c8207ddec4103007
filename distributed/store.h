// Store: a few keys that all ranks share while they find each other.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <tarn/core/error.h>

namespace tarn::inline v1::distributed {

// Keys and values are bytes. Any number of threads may use one store.
class TARN_API Store {
 public:
  using Bytes = std::vector<uint8_t>;
  using Timeout = std::chrono::milliseconds;

  virtual ~Store();
  virtual void set(const std::string& key, const Bytes& value) = 0;
  // Waits for the key.
  virtual Bytes get(const std::string& key) = 0;
  // Adds to a decimal number, 0 at first, and returns the sum.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  virtual bool check(const std::vector<std::string>& keys) = 0;
  // False if the keys were not all there when the timeout had passed.
  virtual bool wait_for(const std::vector<std::string>& keys, Timeout timeout) = 0;
  virtual bool delete_key(const std::string& key) = 0;
  // Puts `desired` where the value is `expected` (empty: where there is none); returns what is there now.
  virtual Bytes compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) = 0;

  // An Error that names the keys if they do not come in time.
  void wait(const std::vector<std::string>& keys, Timeout timeout);
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }
  void set(const std::string& key, const std::string& value) { set(key, Bytes(value.begin(), value.end())); }
  std::string get_text(const std::string& key) {
    Bytes bytes = get(key);
    return std::string(bytes.begin(), bytes.end());
  }

  // How long get() and wait() wait.
  void set_timeout(Timeout timeout) { timeout_ = timeout; }
  Timeout timeout() const { return timeout_; }

 private:
  Timeout timeout_ = std::chrono::minutes(5);
};

// Another store whose keys all begin with a prefix: what groups use that share one store.
class TARN_API PrefixStore : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);
  using Store::set;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  bool check(const std::vector<std::string>& keys) override;
  bool wait_for(const std::vector<std::string>& keys, Timeout timeout) override;
  bool delete_key(const std::string& key) override;
  Bytes compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) override;

 private:
  std::string at(const std::string& key) const { return prefix_ + "/" + key; }
  std::vector<std::string> at(const std::vector<std::string>& keys) const;

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

struct TCPStoreOptions {
  uint16_t port = 29500;  // 0: a free one, if this is the server
  bool is_server = false;
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// A store in the process of one rank, the server; the others talk to it. The protocol is PyTorch's, so a Tarn
// program may use the store of torchrun's agent, and Python ranks may use Tarn's.
class TARN_API TCPStore : public Store {
 public:
  // An Error if the port is in use, or if no server answers within the timeout.
  explicit TCPStore(std::string host, const TCPStoreOptions& options = {});
  ~TCPStore() override;
  using Store::set;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  bool check(const std::vector<std::string>& keys) override;
  bool wait_for(const std::vector<std::string>& keys, Timeout timeout) override;
  bool delete_key(const std::string& key) override;
  Bytes compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) override;

  const std::string& host() const;
  uint16_t port() const;
  // This process's address on the way to the server: one that other ranks can reach.
  std::string local_host() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::inline v1::distributed
