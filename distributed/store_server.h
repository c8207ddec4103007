// The server of TCPStore: one thread that answers all clients.
#pragma once

#include <memory>

#include <tarn/distributed/socket.h>

namespace tarn::inline v1::distributed::detail {

// PyTorch's protocol. A request is its kind, then its arguments; strings and values are a length (uint64) and
// bytes, lists a count (uint64) and items, all in the machine's byte order. The first request on a connection
// is kValidate with the magic number.
enum Request : uint8_t {
  kValidate = 0,  // uint32; no answer
  kSet,           // key, value; no answer
  kCompareSet,    // key, expected, desired -> value
  kGet,           // key, which exists -> value
  kAdd,           // key, int64 -> int64
  kCheck,         // keys -> kReady or kNotReady
  kWait,          // keys -> kStopWaiting, once they are there
  kKeyCount,      // -> int64
  kDelete,        // key -> int64: 1 if it was there
  kAppend,        // key, value; no answer
  kMultiGet,      // keys -> values, one after the other
  kMultiSet,      // count, then key and value each; no answer
  kCancelWait,    // -> kWaitCancelled
  kPing,          // uint32 -> the same
};
inline constexpr uint32_t kMagic = 0x3C85F7CE;
enum CheckAnswer : uint8_t { kReady = 0, kNotReady };
enum WaitAnswer : uint8_t { kStopWaiting = 0, kWaitCancelled };
// Longer strings and lists are refused: they come from something else than a client.
inline constexpr uint64_t kMaxString = 64 << 20, kMaxCount = 1 << 20;

class StoreServer {
 public:
  explicit StoreServer(Descriptor listener);
  ~StoreServer();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::inline v1::distributed::detail
