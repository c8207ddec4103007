// Loading data and saving models in libtorch's words.
#include <tarn/compat/torch/torch.h>
#include <tarn/tests/data/files.h>

namespace {

using tarn::testing::TempDir;

class Points : public torch::data::datasets::Dataset<Points> {
 public:
  explicit Points(int64_t count) : states_(torch::arange(count, torch::kFloat).view({count, 1})) {}

  torch::data::Example<> get(size_t index) override {
    return {states_[index], torch::full({}, int64_t(index % 2), torch::kLong)};
  }
  torch::optional<size_t> size() const override { return states_.size(0); }

 private:
  torch::Tensor states_;
};

// A batch as a plain vector, through a collation of the program's own.
struct Sum : public torch::data::transforms::Collation<torch::Tensor, std::vector<torch::data::Example<>>> {
  torch::Tensor apply_batch(std::vector<torch::data::Example<>> examples) override {
    torch::Tensor sum = torch::zeros({1});
    for (auto& example : examples) sum += example.data;
    return sum;
  }
};

TEST_CASE("a libtorch program loads a dataset of its own") {
  auto dataset =
      Points(10).map(torch::data::transforms::Normalize<>(0.0, 0.5)).map(torch::data::transforms::Stack<>());
  const size_t size = dataset.size().value();
  CHECK(size == 10);
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(dataset), torch::data::DataLoaderOptions().batch_size(4).workers(2));
  float expected = 0;
  for (auto& batch : *loader) {
    auto data = batch.data.to(torch::kCPU), targets = batch.target;
    CHECK(data.size(1) == 1);
    for (int64_t i = 0; i < data.size(0); ++i, expected += 2) CHECK(data[i].item<float>() == expected);
    CHECK(targets.dtype() == torch::kLong);
  }
  CHECK(expected == 20);
}

TEST_CASE("a libtorch program's other ways to make a loader") {
  auto random = torch::data::make_data_loader(Points(6).map(torch::data::transforms::Stack<>()), 6);
  CHECK(random->begin()->data.sum().item<float>() == 15);

  auto options = torch::data::DataLoaderOptions(2);
  options.drop_last(true).enforce_ordering(true).timeout(std::chrono::seconds(60)).max_jobs(3).workers(1);
  auto sums = torch::data::make_data_loader(Points(5).map(Sum()), torch::data::samplers::SequentialSampler(5),
                                            options);
  std::vector<float> got;
  for (torch::Tensor& sum : *sums) got.push_back(sum.item<float>());
  CHECK(got == std::vector<float>{1, 5});

  auto doubled = Points(3).map(torch::data::transforms::Lambda<torch::data::Example<>>(
      [](torch::data::Example<> e) { return torch::data::Example<>(e.data * 2, e.target); }));
  CHECK(doubled.get_batch({1, 2})[1].data.item<float>() == 4);
  auto tensors = torch::data::datasets::TensorDataset(torch::eye(2));
  CHECK(tensors.get(1).data.sum().item<float>() == 1);
}

TEST_CASE("a libtorch program reads MNIST and saves what it trains") {
  TempDir folder;
  for (const char* part : {"train", "t10k"}) {
    tarn::testing::write_file(folder / (std::string(part) + "-images-idx3-ubyte"),
                              tarn::testing::idx(8, {2, 28, 28}));
    tarn::testing::write_file(folder / (std::string(part) + "-labels-idx1-ubyte"),
                              tarn::testing::idx(8, {2}));
  }
  auto mnist = torch::data::datasets::MNIST(folder.path(), torch::data::datasets::MNIST::Mode::kTest)
                   .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                   .map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader(std::move(mnist), /*batch_size=*/2);
  torch::nn::Linear net(784, 10), copy(784, 10);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  for (torch::data::Example<>& batch : *loader) {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data.flatten(1)), batch.target);
    loss.backward();
    optimizer.step();
  }
  torch::save(net, folder / "net.pt");
  torch::load(copy, folder / "net.pt");
  CHECK(copy->weight.equal(net->weight));
  torch::save(optimizer, folder / "optimizer.pt");
  torch::load(optimizer, folder / "optimizer.pt");
  torch::Tensor loaded;
  torch::save(net->weight, folder / "weight.pt");
  torch::load(loaded, folder / "weight.pt");
  CHECK(loaded.equal(net->weight));
}

}  // namespace
