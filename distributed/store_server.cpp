#include <tarn/distributed/store_server.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace tarn::inline v1::distributed::detail {

namespace {

// Not all of a request has arrived yet.
struct Incomplete {};
// What came is no request.
struct Malformed {};

// Reads a request's arguments from what has arrived.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  uint64_t count() {
    uint64_t n = number<uint64_t>();
    if (n > kMaxCount) throw Malformed();
    return n;
  }
  std::string string() {
    uint64_t size = number<uint64_t>();
    if (size > kMaxString) throw Malformed();
    return std::string(take(size), size);
  }
  std::vector<std::string> strings() {
    std::vector<std::string> all(count());
    for (std::string& s : all) s = string();
    return all;
  }
  size_t position() const { return at_; }

 private:
  const char* take(size_t size) {
    if (bytes_.size() - at_ < size) throw Incomplete();
    at_ += size;
    return bytes_.data() + at_ - size;
  }

  const std::string& bytes_;
  size_t at_ = 0;
};

struct Client {
  Descriptor fd;
  std::string in, out;
  bool valid = false;                // has said the magic number
  std::vector<std::string> waiting;  // keys that a kWait has not found yet

  template <class T>
  void answer(T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void answer_string(const std::string& value) {
    answer<uint64_t>(value.size());
    out += value;
  }
};

}  // namespace

struct StoreServer::Impl {
  explicit Impl(Descriptor listening) : listener(std::move(listening)), stop(eventfd(0, EFD_CLOEXEC)) {
    check(bool(stop), "init_process_group: cannot start the store: ", std::strerror(errno));
    thread = std::thread([this] { run(); });
  }
  ~Impl() {
    uint64_t one = 1;
    // An eventfd takes a first write always.
    (void)!write(stop.get(), &one, sizeof one);
    thread.join();
  }

  void run();
  void accept_clients();
  bool receive(Client& client);
  bool send_out(Client& client);
  void handle(Client& client, Reader& reader);
  void handle_key(Client& client, Reader& reader, Request request);
  void wake_waiting();
  std::string value_of(const std::string& key) const {
    auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }
  bool all_there(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys)
      if (!values.count(key)) return false;
    return true;
  }

  Descriptor listener, stop;
  std::map<int, Client> clients;  // by descriptor
  std::map<std::string, std::string> values;
  std::thread thread;
};

void StoreServer::Impl::run() {
  for (;;) {
    std::vector<pollfd> polled = {{stop.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
    for (auto& [fd, client] : clients)
      polled.push_back({fd, short(POLLIN | (client.out.empty() ? 0 : POLLOUT)), 0});
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents) return;
    for (size_t i = 2; i < polled.size(); ++i) {
      if (!polled[i].revents) continue;
      auto found = clients.find(polled[i].fd);
      if (found != clients.end() && !receive(found->second)) clients.erase(found);
    }
    // Requests of one client may have answered others.
    for (auto at = clients.begin(); at != clients.end();)
      at = send_out(at->second) ? std::next(at) : clients.erase(at);
    if (polled[1].revents) accept_clients();
  }
}

void StoreServer::Impl::accept_clients() {
  for (;;) {
    int fd = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    clients[fd].fd = Descriptor(fd);
  }
}

// False if the client is gone or talks nonsense.
bool StoreServer::Impl::receive(Client& client) {
  char block[1 << 16];
  for (;;) {
    ssize_t got = recv(client.fd.get(), block, sizeof block, 0);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN) return false;
    if (got < 0) break;
    client.in.append(block, size_t(got));
  }
  try {
    while (!client.in.empty()) {
      Reader reader(client.in);
      handle(client, reader);
      client.in.erase(0, reader.position());
    }
  } catch (const Incomplete&) {
  } catch (const Malformed&) {
    return false;
  }
  return true;
}

bool StoreServer::Impl::send_out(Client& client) {
  while (!client.out.empty()) {
    ssize_t sent = send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    client.out.erase(0, size_t(sent));
  }
  return true;
}

// Arguments are read before anything changes: an incomplete request is read again from its start.
void StoreServer::Impl::handle(Client& client, Reader& reader) {
  auto request = Request(reader.number<uint8_t>());
  if (!client.valid && request != kValidate) throw Malformed();
  switch (request) {
    case kValidate:
      if (reader.number<uint32_t>() != kMagic) throw Malformed();
      client.valid = true;
      return;
    case kPing:
      return client.answer(reader.number<uint32_t>());
    case kKeyCount:
      return client.answer(int64_t(values.size()));
    case kCheck:
      return client.answer(all_there(reader.strings()) ? kReady : kNotReady);
    case kWait: {
      std::vector<std::string> keys = reader.strings();
      if (all_there(keys))
        client.answer(kStopWaiting);
      else
        client.waiting = std::move(keys);
      return;
    }
    case kCancelWait:
      client.waiting.clear();
      return client.answer(kWaitCancelled);
    case kMultiGet: {
      for (const std::string& key : reader.strings()) client.answer_string(value_of(key));
      return;
    }
    case kMultiSet: {
      std::vector<std::pair<std::string, std::string>> pairs(reader.count());
      for (auto& [key, value] : pairs) key = reader.string(), value = reader.string();
      for (auto& [key, value] : pairs) values[key] = value;
      return wake_waiting();
    }
    default:
      return handle_key(client, reader, request);
  }
}

void StoreServer::Impl::handle_key(Client& client, Reader& reader, Request request) {
  std::string key = reader.string();
  switch (request) {
    case kSet:
      values[key] = reader.string();
      return wake_waiting();
    case kAppend:
      values[key] += reader.string();
      return wake_waiting();
    case kGet:
      return client.answer_string(value_of(key));
    case kAdd: {
      int64_t amount = reader.number<int64_t>();
      std::string& value = values[key];
      int64_t sum = amount + std::strtoll(value.c_str(), nullptr, 10);
      value = std::to_string(sum);
      client.answer(sum);
      return wake_waiting();
    }
    case kDelete:
      return client.answer(int64_t(values.erase(key)));
    case kCompareSet: {
      std::string expected = reader.string(), desired = reader.string();
      auto found = values.find(key);
      bool matches = found == values.end() ? expected.empty() : found->second == expected;
      if (!matches) return client.answer_string(found == values.end() ? expected : found->second);
      values[key] = desired;
      client.answer_string(desired);
      return wake_waiting();
    }
    default:
      throw Malformed();
  }
}

void StoreServer::Impl::wake_waiting() {
  for (auto& [fd, client] : clients) {
    if (client.waiting.empty() || !all_there(client.waiting)) continue;
    client.waiting.clear();
    client.answer(kStopWaiting);
  }
}

StoreServer::StoreServer(Descriptor listener) : impl_(std::make_unique<Impl>(std::move(listener))) {}
StoreServer::~StoreServer() = default;

}  // namespace tarn::inline v1::distributed::detail
