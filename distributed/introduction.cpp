#include <tarn/distributed/introduction.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tarn::inline v1::distributed::detail {

namespace {

constexpr const char* kOp = "init_process_group: ";

std::string key_of(const char* what, int rank) { return str(what, "/", rank); }

// What two processes have in common if they can share memory and reach each other over the loopback.
std::string host_id() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char network[100] = {};
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = 0;
  return boot + "/" + network;
}

bool is_loopback(const std::string& address) { return address.rfind("127.", 0) == 0 || address == "::1"; }

// The address that this host sends from to reach another; nothing is sent.
std::string source_towards(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &list) != 0) return "";
  Descriptor fd(socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  bool good = fd && connect(fd.get(), list->ai_addr, list->ai_addrlen) == 0;
  freeaddrinfo(list);
  return good ? local_host(fd) : "";
}

struct Card {
  std::string host_id, address;
  int size = 0;
};

Card read_card(Store& store, int rank) {
  std::istringstream text(store.get_text(key_of("rank", rank)));
  Card card;
  text >> card.host_id >> card.address >> card.size;
  return card;
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

// Waits until every rank has set its key.
void wait_for_all(Store& store, const char* what, int size, milliseconds timeout) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(key_of(what, rank));
  if (store.wait_for(keys, timeout)) return;
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank)
    if (!store.check({keys[size_t(rank)]})) missing.push_back(rank);
  fail(kOp, list_of(missing), " of ", size, " did not come within ", double(timeout.count()) / 1000,
       " s; were all started, with the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE?");
}

// An address of this host that other hosts reach, where it only knows its loopback (as rank 0 may).
std::string outward_address(const std::string& known, const std::vector<Card>& cards) {
  if (!is_loopback(known)) return known;
  for (const Card& card : cards)
    if (!is_loopback(card.address))
      if (std::string source = source_towards(card.address); !source.empty()) return source;
  return known;
}

std::unique_ptr<SharedMemory> open_shared(Store& store, int rank, int size, milliseconds timeout) {
  if (rank == 0) store.set("shared/name", SharedMemory::create(size));
  std::string name = store.get_text("shared/name");
  auto shared = SharedMemory::open(name, rank, size);
  store.set(key_of("shared", rank), std::string(shared ? "yes" : "no"));
  wait_for_all(store, "shared", size, timeout);
  if (rank == 0 && !name.empty()) SharedMemory::unlink(name);
  for (int other = 0; other < size; ++other)
    if (store.get_text(key_of("shared", other)) != "yes") return nullptr;
  return shared;
}

}  // namespace

Introduction introduce(Store& store, int rank, int size, const std::string& address, milliseconds timeout) {
  check(store.add(key_of("arrivals", rank), 1) == 1, kOp, "two processes have rank ", rank,
        "; each needs a RANK of its own");
  store.set(key_of("rank", rank), str(host_id(), " ", address.empty() ? "127.0.0.1" : address, " ", size));
  wait_for_all(store, "rank", size, timeout);

  Introduction result;
  result.one_host = true;
  std::vector<Card> cards;
  for (int other = 0; other < size; ++other) {
    cards.push_back(read_card(store, other));
    check(cards.back().size == size, kOp, "rank ", other, " was started for ", cards.back().size,
          " ranks, rank ", rank, " for ", size, "; give all the same WORLD_SIZE");
    result.one_host &= cards.back().host_id == cards[0].host_id;
  }
  result.address = result.one_host ? "127.0.0.1" : outward_address(cards[size_t(rank)].address, cards);
  if (result.one_host && size > 1) result.shared = open_shared(store, rank, size, timeout);
  return result;
}

}  // namespace tarn::inline v1::distributed::detail
