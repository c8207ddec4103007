#include <tarn/distributed/socket.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace tarn::inline v1::distributed::detail {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const Address& address, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  int status = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                           std::to_string(address.port).c_str(), &hints, &list);
  check(status == 0, "init_process_group: the host name '", address.host,
        "' cannot be resolved: ", gai_strerror(status), "; set MASTER_ADDR to a name or address of rank 0");
  return AddressList(list, freeaddrinfo);
}

int left(Clock::time_point deadline) {
  auto ms = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return int(std::clamp<int64_t>(ms, 0, 1'000'000'000));
}

// False if the deadline passed.
bool wait_for(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    pollfd entry = {fd, events, 0};
    int ready = poll(&entry, 1, left(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw ConnectionLost{std::strerror(errno)};
  }
}

void prepare(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// The connection, or none and errno.
Descriptor try_connect(const addrinfo& to, Clock::time_point deadline) {
  Descriptor fd(socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  if (connect(fd.get(), to.ai_addr, to.ai_addrlen) == 0) return fd;
  int error = errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for(fd.get(), POLLOUT, deadline))
      error = ETIMEDOUT;
    else
      getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  errno = error;
  return error == 0 ? std::move(fd) : Descriptor();
}

bool is_loopback(const addrinfo& a) {
  if (a.ai_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(a.ai_addr)->sin_addr.s_addr) >> 24 == 127;
  return a.ai_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(a.ai_addr)->sin6_addr);
}

Descriptor try_listen(const addrinfo& at) {
  Descriptor fd(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  int on = 1, off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  bool good = bind(fd.get(), at.ai_addr, at.ai_addrlen) == 0 && listen(fd.get(), 1024) == 0;
  return good ? std::move(fd) : Descriptor();
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor connect_to(const Address& address, Clock::time_point deadline) {
  AddressList list = resolve(address, 0);
  for (auto pause = milliseconds(5);; pause = std::min(2 * pause, milliseconds(250))) {
    for (const addrinfo* a = list.get(); a; a = a->ai_next) {
      Descriptor fd = try_connect(*a, deadline);
      if (!fd) continue;
      prepare(fd.get());
      return fd;
    }
    if (Clock::now() + pause >= deadline) throw ConnectionLost{std::strerror(errno)};
    std::this_thread::sleep_for(pause);
  }
}

Descriptor listen_on(const Address& address) {
  AddressList named = resolve(address, 0);
  bool local = is_loopback(*named);
  // Every interface: IPv6's wildcard takes IPv4 too.
  AddressList all = resolve({local ? address.host : "", address.port}, local ? 0 : AI_PASSIVE);
  int error = 0;
  for (int family : {AF_INET6, AF_INET})
    for (const addrinfo* a = all.get(); a; a = a->ai_next) {
      if (a->ai_family != family || (local && !is_loopback(*a))) continue;
      Descriptor fd = try_listen(*a);
      if (fd) return fd;
      // A machine without IPv6 is no reason to stop; a port that is taken is.
      if (error != EADDRINUSE) error = errno;
    }
  check(error != EADDRINUSE, "init_process_group: port ", int(address.port), " on ", address.host,
        " is in use by another program; set MASTER_PORT, or --master-port of tarn run, to a free one");
  fail("init_process_group: cannot listen on ", address, ": ", std::strerror(error));
}

uint16_t port_of(const Descriptor& listener) {
  sockaddr_storage at = {};
  socklen_t size = sizeof at;
  ensure(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0, "getsockname failed");
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<sockaddr_in&>(at).sin_port);
}

std::string local_host(const Descriptor& connection) {
  sockaddr_storage at = {};
  socklen_t size = sizeof at;
  char host[NI_MAXHOST] = "127.0.0.1";
  if (getsockname(connection.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr*>(&at), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  std::string text = host;
  // An IPv4 address as an IPv6 socket shows it.
  return text.rfind("::ffff:", 0) == 0 ? text.substr(7) : text;
}

void send_all(const Descriptor& connection, const void* data, size_t bytes, Clock::time_point deadline) {
  for (auto* at = static_cast<const char*>(data); bytes > 0;) {
    ssize_t sent = send(connection.get(), at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      at += sent;
      bytes -= size_t(sent);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(connection.get(), POLLOUT, deadline))
        throw ConnectionLost{"no answer within the timeout"};
    } else {
      throw ConnectionLost{std::strerror(errno)};
    }
  }
}

void receive_all(const Descriptor& connection, void* data, size_t bytes, Clock::time_point deadline) {
  for (auto* at = static_cast<char*>(data); bytes > 0;) {
    ssize_t got = recv(connection.get(), at, bytes, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      bytes -= size_t(got);
    } else if (got == 0) {
      throw ConnectionLost{"closed by the other side"};
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(connection.get(), POLLIN, deadline)) throw ConnectionLost{"no answer within the timeout"};
    } else {
      throw ConnectionLost{std::strerror(errno)};
    }
  }
}

bool wait_readable(const Descriptor& connection, Clock::time_point deadline) {
  return wait_for(connection.get(), POLLIN, deadline);
}

}  // namespace tarn::inline v1::distributed::detail
