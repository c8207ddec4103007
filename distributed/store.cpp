#include <tarn/distributed/store.h>

#include <mutex>

#include <tarn/distributed/store_server.h>

namespace tarn::inline v1::distributed {

using namespace detail;

Store::~Store() = default;

void Store::wait(const std::vector<std::string>& keys, Timeout timeout) {
  if (wait_for(keys, timeout)) return;
  std::string missing;
  for (const std::string& key : keys)
    if (!check({key})) missing += (missing.empty() ? "" : ", ") + key;
  fail("store: keys did not come within ", double(timeout.count()) / 1000, " s: ", missing);
}

// ---- PrefixStore ----

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  set_timeout(store_->timeout());
}

std::vector<std::string> PrefixStore::at(const std::vector<std::string>& keys) const {
  std::vector<std::string> all;
  for (const std::string& key : keys) all.push_back(at(key));
  return all;
}

void PrefixStore::set(const std::string& key, const Bytes& value) { store_->set(at(key), value); }
Store::Bytes PrefixStore::get(const std::string& key) {
  wait({key}, timeout());
  return store_->get(at(key));
}
int64_t PrefixStore::add(const std::string& key, int64_t amount) { return store_->add(at(key), amount); }
bool PrefixStore::check(const std::vector<std::string>& keys) { return store_->check(at(keys)); }
bool PrefixStore::wait_for(const std::vector<std::string>& keys, Timeout timeout) {
  return store_->wait_for(at(keys), timeout);
}
bool PrefixStore::delete_key(const std::string& key) { return store_->delete_key(at(key)); }
Store::Bytes PrefixStore::compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return store_->compare_set(at(key), expected, desired);
}

// ---- TCPStore ----

namespace {

// PyTorch's clients put this before every key.
constexpr const char* kKeyPrefix = "/";

// A request being written.
class Writer {
 public:
  explicit Writer(Request request) { number(uint8_t(request)); }

  template <class T>
  Writer& number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& key(const std::string& name) {
    number<uint64_t>(name.size() + 1);
    bytes += kKeyPrefix + name;
    return *this;
  }
  Writer& value(const Store::Bytes& value) {
    number<uint64_t>(value.size());
    bytes.append(value.begin(), value.end());
    return *this;
  }
  Writer& keys(const std::vector<std::string>& names) {
    number<uint64_t>(names.size());
    for (const std::string& name : names) key(name);
    return *this;
  }

  std::string bytes;
};

}  // namespace

struct TCPStore::Impl {
  Address address;
  std::chrono::milliseconds timeout;
  std::unique_ptr<StoreServer> server;
  Descriptor connection;
  std::mutex mutex;

  // Starts the server if this is it, and connects.
  void open(bool is_server);

  // Sends a request, reads the answer with `read` and puts a name to what goes wrong.
  template <class Read>
  auto ask(const Writer& request, Read read) {
    return ask_until(Clock::now() + timeout, request, read);
  }
  template <class Read>
  auto ask_until(Clock::time_point deadline, const Writer& request, Read read) {
    std::lock_guard lock(mutex);
    try {
      send_all(connection, request.bytes.data(), request.bytes.size(), deadline);
      return read(deadline);
    } catch (const ConnectionLost& lost) {
      fail("store: the connection to ", address, " failed: ", lost.why,
           "; the process that serves it (rank 0, or the launcher) may have ended");
    }
  }

  template <class T>
  T read(Clock::time_point deadline) {
    T value;
    receive_all(connection, &value, sizeof value, deadline);
    return value;
  }
  Bytes read_bytes(Clock::time_point deadline) {
    auto size = read<uint64_t>(deadline);
    tarn::check(size <= kMaxString, "store: ", address, " does not speak the store's protocol");
    Bytes bytes(size);
    receive_all(connection, bytes.data(), size, deadline);
    return bytes;
  }
};

void TCPStore::Impl::open(bool is_server) {
  auto deadline = Clock::now() + timeout;
  if (is_server) {
    Descriptor listener = listen_on(address);
    address.port = port_of(listener);
    server = std::make_unique<StoreServer>(std::move(listener));
  }
  try {
    connection = connect_to(address, deadline);
    // Whatever else listens there says something else or nothing.
    constexpr uint32_t kNonce = 0x7461726E;
    std::string hello = Writer(kValidate).number(kMagic).bytes + Writer(kPing).number(kNonce).bytes;
    send_all(connection, hello.data(), hello.size(), deadline);
    tarn::check(read<uint32_t>(deadline) == kNonce, "init_process_group: what listens on ", address,
                " is not a store; is the port in use by another program? set MASTER_PORT to a free one");
  } catch (const ConnectionLost& lost) {
    fail("init_process_group: no store answers on ", address, " within ", double(timeout.count()) / 1000,
         " s: ", lost.why, "; rank 0 may not have started, or another program has the port");
  }
}

TCPStore::TCPStore(std::string host, const TCPStoreOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->address = {std::move(host), options.port};
  impl_->timeout = options.timeout;
  set_timeout(options.timeout);
  impl_->open(options.is_server);
}
TCPStore::~TCPStore() = default;

const std::string& TCPStore::host() const { return impl_->address.host; }
uint16_t TCPStore::port() const { return impl_->address.port; }
std::string TCPStore::local_host() const { return detail::local_host(impl_->connection); }

void TCPStore::set(const std::string& key, const Bytes& value) {
  impl_->ask(Writer(kSet).key(key).value(value), [](auto) {});
}

Store::Bytes TCPStore::get(const std::string& key) {
  wait({key}, timeout());
  return impl_->ask(Writer(kGet).key(key), [&](auto deadline) { return impl_->read_bytes(deadline); });
}

int64_t TCPStore::add(const std::string& key, int64_t amount) {
  return impl_->ask(Writer(kAdd).key(key).number(amount),
                    [&](auto deadline) { return impl_->template read<int64_t>(deadline); });
}

bool TCPStore::check(const std::vector<std::string>& keys) {
  return impl_->ask(Writer(kCheck).keys(keys),
                    [&](auto deadline) { return impl_->template read<uint8_t>(deadline) == kReady; });
}

bool TCPStore::wait_for(const std::vector<std::string>& keys, Timeout timeout) {
  auto deadline = Clock::now() + timeout;
  return impl_->ask_until(deadline + impl_->timeout, Writer(kWait).keys(keys), [&](auto last) {
    if (wait_readable(impl_->connection, deadline))
      return impl_->template read<uint8_t>(last) == kStopWaiting;
    std::string cancel = Writer(kCancelWait).bytes;
    send_all(impl_->connection, cancel.data(), cancel.size(), last);
    // The keys may have come in between: then that answer is first.
    bool came = impl_->template read<uint8_t>(last) == kStopWaiting;
    if (came) impl_->template read<uint8_t>(last);
    return came;
  });
}

bool TCPStore::delete_key(const std::string& key) {
  return impl_->ask(Writer(kDelete).key(key),
                    [&](auto deadline) { return impl_->template read<int64_t>(deadline) > 0; });
}

Store::Bytes TCPStore::compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return impl_->ask(Writer(kCompareSet).key(key).value(expected).value(desired),
                    [&](auto deadline) { return impl_->read_bytes(deadline); });
}

}  // namespace tarn::inline v1::distributed
