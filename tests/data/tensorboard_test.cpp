#include <tarn/data/tensorboard.h>

#include <cmath>
#include <thread>

#include <tarn/tests/data/files.h>
#include <tarn/tests/python.h>

namespace tarn {
namespace {

using namespace testing;
using utils::tensorboard::SummaryWriter;

TEST_CASE("TensorBoard reads scalars") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  writer.add_scalar("loss/train", 1.5, 0);
  writer.add_scalar("loss/train", -0.25, 1);
  writer.add_scalar("lr", 1e-3, int64_t(1) << 40);
  writer.close();
  if (auto read = ask_python("data/read_events.py", folder.path()))
    CHECK(*read ==
          "scalar loss/train 0 1.5\nscalar loss/train 1 -0.25\nscalar lr 1099511627776 0.00100000005\n");
}

TEST_CASE("TensorBoard reads each of add_scalars' curves as a run") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  writer.add_scalars("acc/all", {{"train", 0.5}, {"test", 0.25}}, 3);
  writer.close();
  if (auto read = ask_python("data/read_events.py", folder / "acc_all_test"))
    CHECK(*read == "scalar acc/all 3 0.25\n");
}

TEST_CASE("TensorBoard reads images") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  Tensor grey = formula_tensor({1, 4, 6}, kFloat, kProbability);
  writer.add_image("grey", grey, 1);
  writer.add_image("colour", detail::make_tensor({3, 5, 7}, kByte).zero_(), 2);
  writer.close();
  if (auto read = ask_python("data/read_events.py", folder.path()))
    CHECK(*read == "image colour 2 5 7 png 5 7 8 2\nimage grey 1 4 6 png 4 6 8 0\n");
}

TEST_CASE("TensorBoard reads histograms") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  writer.add_histogram("weights", tensor_of({-1, 0, 0.5, 0.5, 2}, kDouble), 7);
  writer.close();
  if (auto read = ask_python("data/read_events.py", folder.path()))
    CHECK(*read ==
          "histogram weights 7 -1.0 2.0 5.0 2.0 5.5 591 4\n"
          "bin -0.917246 1\nbin 1e-12 1\nbin 0.517762 2\nbin 2.16282 1\n");
}

TEST_CASE("a run that goes on makes TensorBoard forget the steps that it repeats") {
  TempDir folder;
  {
    SummaryWriter first(folder.path());
    for (int step = 0; step < 4; ++step) first.add_scalar("loss", 10 + step, step);
  }
  // File names hold the second of their making; TensorBoard reads them in that order.
  SummaryWriter second(folder.path(), 2);
  second.add_scalar("loss", 20, 2);
  second.close();
  if (auto read = ask_python("data/read_events.py", folder.path()))
    CHECK(*read == "scalar loss 0 10\nscalar loss 1 11\nscalar loss 2 20\n");
}

TEST_CASE("several threads may write to one writer") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&writer, t] {
      for (int step = 0; step < 100; ++step) writer.add_scalar("tag" + std::to_string(t), step, step);
    });
  for (std::thread& thread : threads) thread.join();
  writer.close();
  if (auto read = ask_python("data/read_events.py", folder.path()))
    CHECK(std::count(read->begin(), read->end(), '\n') == 300);
}

TEST_CASE("what cannot be written is named") {
  TempDir folder;
  SummaryWriter writer(folder.path());
  CHECK_ERROR(writer.add_histogram("h", tensor_of({1, NAN}), 0), "add_histogram: element 1 of 2 is nan");
  CHECK_ERROR(writer.add_histogram("h", detail::make_tensor({0}, kFloat), 0),
              "add_histogram: the tensor is empty");
  CHECK_ERROR(writer.add_image("i", detail::make_tensor({2, 2}, kLong), 0),
              "add_image: image must be uint8 or floating, got Long");
  writer.close();
  CHECK_ERROR(writer.add_scalar("s", 1, 1), "SummaryWriter: " + folder.path() + " is closed");
  write_file(folder / "file", "");
  CHECK(error_of([&] { SummaryWriter(folder / "file"); }).rfind("SummaryWriter: cannot ", 0) == 0);
}

}  // namespace
}  // namespace tarn
