#include <cstdint>
#include <set>

#include <tarn/core/cpu/philox.h>
#include <tarn/core/error.h>
#include <tarn/core/random.h>

#include <tarn/tests/catch.h>

using namespace tarn;
using detail::Words;

namespace {

bool same(Words a, Words b) {
  return a.w[0] == b.w[0] && a.w[1] == b.w[1] && a.w[2] == b.w[2] && a.w[3] == b.w[3];
}

}  // namespace

TEST_CASE("philox gives the published numbers") {
  // kat_vectors of Random123, the authors' own implementation: philox4x32, 10 rounds.
  CHECK(same(detail::philox({{0, 0, 0, 0}}, 0, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  uint32_t f = 0xffffffff;
  CHECK(same(detail::philox({{f, f, f, f}}, f, f), {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  CHECK(same(detail::philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
             {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST_CASE("uniform numbers stay below one") {
  CHECK(detail::uniform_float(0) == 0.0f);
  CHECK(detail::uniform_float(0xffffffff) == 1.0f - 0x1p-24f);
  CHECK(detail::uniform_double(0, 0) == 0.0);
  CHECK(detail::uniform_double(0xffffffff, 0xffffffff) == 1.0 - 0x1p-53);
}

TEST_CASE("integers below a range reach both ends and no further") {
  uint32_t f = 0xffffffff;
  CHECK(detail::below(10, 0, 0) == 0);
  CHECK(detail::below(10, f, f) == 9);
  uint64_t large = uint64_t(1) << 63;
  CHECK(detail::below(large, Words{{0, 0, 0, 0}}) == 0);
  CHECK(detail::below(large, Words{{f, f, f, f}}) == large - 1);
}

TEST_CASE("a generator hands out its stream without gaps or overlaps") {
  Generator g(5);
  CHECK(g.reserve(10).offset == 0);
  CHECK(g.reserve(1).offset == 12);  // whole blocks of four words
  CHECK(g.reserve(4).offset == 16);
  CHECK(g.reserve(0).offset == 20);
  CHECK(g.reserve(1).offset == 20);
  CHECK(g.reserve(1).seed == 5);
}

TEST_CASE("seeding starts the stream again, and copies share it") {
  Generator g(1), copy = g, clone = g.clone();
  g.reserve(100);
  CHECK(copy.get_offset() == 100);
  CHECK(clone.get_offset() == 0);
  g.set_current_seed(7);
  CHECK(copy.current_seed() == 7);
  CHECK(copy.get_offset() == 0);
  CHECK(g == copy);
  CHECK_FALSE(g == clone);
}

TEST_CASE("manual_seed seeds the default generator") {
  manual_seed(42);
  CHECK(default_generator().current_seed() == 42);
  CHECK(default_generator().get_offset() == 0);
}

TEST_CASE("entropy seeds differ") {
  Generator g(0);
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(g.seed());
  CHECK(seeds.size() == 8);
}

TEST_CASE("an undefined generator and a crooked offset are named") {
  auto message_of = [](auto action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message_of([] { Generator().current_seed(); }) ==
        "Generator: is undefined; construct it with a seed");
  CHECK(message_of([] { Generator(1).set_offset(6); }) == "Generator: offset must be a multiple of 4, got 6");
}
