// The main of every test program, for Catch2 2 and 3. A case that asserts nothing fails, and so does a name
// or tag that matches no case: a test that cannot fail is no test.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>

int main(int argc, char** argv) {
  Catch::Session session;
  session.configData().warnings = Catch::WarnAbout::NoAssertions;
  return session.run(argc, argv);
}
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char** argv) {
  Catch::Session session;
  session.configData().warnings =
      Catch::WarnAbout::What(Catch::WarnAbout::NoAssertions | Catch::WarnAbout::NoTests);
  return session.run(argc, argv);
}
#endif
