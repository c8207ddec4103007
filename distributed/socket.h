// A TCP connection with deadlines: what the store's client and server stand on. No call blocks beyond its
// deadline, and no write raises SIGPIPE.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <tarn/core/error.h>

namespace tarn::inline v1::distributed::detail {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;
  uint16_t port = 0;
  friend void append(std::string& out, const Address& address) {
    bool ipv6 = address.host.find(':') != std::string::npos;
    out += ipv6 ? "[" + address.host + "]" : address.host;
    out += ":" + std::to_string(address.port);
  }
};

// Where the connection stands when the deadline passes or the other side goes away: the text says which.
struct ConnectionLost {
  std::string why;  // "no answer within the timeout", "closed by the other side", "Connection refused"
};

// Tries again until the deadline while nobody listens: ranks start in any order.
Descriptor connect_to(const Address& address, Clock::time_point deadline);

// Listens on every interface, or on the loopback one alone if the host's name means that. Port 0 takes a free
// one. An Error if the port is taken.
Descriptor listen_on(const Address& address);
uint16_t port_of(const Descriptor& listener);

// Our own end of a connection, as an address that others on the network may use.
std::string local_host(const Descriptor& connection);

void send_all(const Descriptor& connection, const void* data, size_t bytes, Clock::time_point deadline);
void receive_all(const Descriptor& connection, void* data, size_t bytes, Clock::time_point deadline);
// False if the deadline passed without a byte to read.
bool wait_readable(const Descriptor& connection, Clock::time_point deadline);

}  // namespace tarn::inline v1::distributed::detail
