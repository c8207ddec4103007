// Trains a small ResNet on the 60,000 images of Fashion-MNIST and shows what a training program in Tarn looks
// like: data with augmentation, a network, an optimizer with a schedule, curves for TensorBoard, checkpoints.
//
//   resnet --help                                  the options
//   resnet --device cuda                           on a GPU
//   resnet --resume                                goes on after the last finished epoch
//   tarn run --nproc 2 resnet ...                  on two ranks, each with batches of --batch-size
//   tensorboard --logdir out/resnet                the curves
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <tarn/data/png.h>
#include <tarn/data/tensorboard.h>
#include <tarn/distributed/data_parallel.h>
#include <tarn/distributed/distributed.h>
#include <tarn/tarn.h>

#include "options.h"
#include "progress.h"
#include "resnet.h"
#include "sheet.h"

namespace checkpoint = tarn::checkpoint;
namespace data = tarn::data;
namespace distributed = tarn::distributed;
namespace optim = tarn::optim;
namespace transforms = tarn::data::transforms;
using tarn::Tensor;
using tarn::data::datasets::FashionMNIST;
using tarn::utils::tensorboard::SummaryWriter;

namespace {

// Mean and deviation of the training images' pixels.
constexpr double kMean = 0.2860, kStd = 0.3530;

// Set by Ctrl-C; the loop below stops at the next step. The last finished epoch's checkpoint is on the disk.
volatile std::sig_atomic_t interrupted = 0;

auto training_data(const FashionMNIST& images) {
  return FashionMNIST(images)
      .map(transforms::RandomCrop<>(28, 2))
      .map(transforms::RandomHorizontalFlip<>())
      .map(transforms::Normalize<>(kMean, kStd))
      .map(transforms::Stack<>());
}

auto test_data(const FashionMNIST& images) {
  return FashionMNIST(images).map(transforms::Normalize<>(kMean, kStd)).map(transforms::Stack<>());
}

struct Training {
  tarn::Device device;
  ResNet net;
  optim::SGD& optimizer;
  optim::LRScheduler& scheduler;
  int64_t finished_epochs = 0;
};

// All that the run needs to go on. With another --epochs, --batch-size, --lr or --seed it would be another
// run.
template <class Loader>
checkpoint::State state_of(Training& training, Loader& loader, const Options& options) {
  checkpoint::State state;
  state.add("model", training.net).add("optimizer", training.optimizer).add("scheduler", training.scheduler);
  state.add("loader", loader).add("generator", tarn::default_generator());
  state.add("epoch", training.finished_epochs);
  state.expect("--epochs", tarn::str(options.epochs)).expect("--batch-size", tarn::str(options.batch_size));
  state.expect("--lr", tarn::str(options.lr)).expect("--seed", tarn::str(options.seed));
  return state;
}

void resume(const std::string& folder, const checkpoint::State& state) {
  auto found = checkpoint::load_latest(folder, state);
  if (!found) return;
  for (const std::string& text : found->skipped) std::fprintf(stderr, "resnet: skipped: %s\n", text.c_str());
  std::printf("resumed %s\n", found->path.c_str());
}

// `forward` is the network's, or that of its wrapper which averages the gradients of all ranks. Only one rank
// has a writer and shows its progress.
template <class Forward, class Loader>
void train_epoch(Training& training, const Forward& forward, Loader& loader, Progress* progress,
                 SummaryWriter* writer) {
  training.net->train();
  int64_t step = training.scheduler.last_epoch();
  for (auto& batch : loader) {
    if (interrupted) return;
    Tensor loss = nn::functional::cross_entropy(forward(batch.data.to(training.device)),
                                                batch.target.to(training.device));
    training.optimizer.zero_grad();
    loss.backward();
    training.optimizer.step();

    if (progress) progress->add(batch.data.size(0) * distributed::get_world_size(), loss.item<double>());
    if (writer) {
      writer->add_scalar("loss/train", loss.item<double>(), step);
      writer->add_scalar("lr", training.scheduler.get_last_lr()[0], step++);
    }
    training.scheduler.step();
  }
}

// The predicted class of each image, in the dataset's order.
template <class Loader>
std::vector<int64_t> predict(Training& training, Loader& loader) {
  tarn::NoGradGuard no_grad;
  training.net->eval();
  std::vector<int64_t> classes;
  for (auto& batch : loader) {
    Tensor best = training.net->forward(batch.data.to(training.device)).argmax(1).cpu();
    const int64_t* values = best.data_ptr<int64_t>();
    classes.insert(classes.end(), values, values + best.numel());
  }
  return classes;
}

double accuracy(const std::vector<int64_t>& classes, const Tensor& targets) {
  const int64_t* truth = targets.data_ptr<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < classes.size(); ++i) right += classes[i] == truth[i];
  return 100.0 * double(right) / double(classes.size());
}

Tensor sheet_of(const FashionMNIST& images, const std::vector<int64_t>& classes) {
  const int64_t shown = std::min<int64_t>(64, int64_t(classes.size()));
  std::vector<Labelled> labels;
  for (int64_t i = 0; i < shown; ++i)
    labels.push_back({FashionMNIST::class_name(classes[i]),
                      FashionMNIST::class_name(images.targets().data_ptr<int64_t>()[i])});
  return draw_sheet(images.bytes().narrow(0, 0, shown), labels);
}

void write_histograms(SummaryWriter& writer, const ResNet& net, int64_t epoch) {
  for (const auto& parameter : net->named_parameters())
    writer.add_histogram(parameter.key(), parameter.value(), epoch);
}

// Meets the other ranks, if a launcher started the program as one of several.
bool join_ranks(tarn::Device device) {
  if (!distributed::is_launched()) return false;
  distributed::init_process_group(device.is_cuda() ? "nccl" : "gloo");
  return true;
}

void announce(const Training& training, const Options& options, bool launched) {
  if (launched) std::printf("%lld ranks, each with ", static_cast<long long>(distributed::get_world_size()));
  std::printf("%s, %d threads, %lld workers, from epoch %lld of %lld into %s\n",
              training.device.str().c_str(), tarn::get_num_threads(), static_cast<long long>(options.workers),
              static_cast<long long>(training.finished_epochs + 1), static_cast<long long>(options.epochs),
              options.out.c_str());
}

int run(const Options& options) {
  if (options.threads > 0) tarn::set_num_threads(options.threads);
  tarn::manual_seed(options.seed);
  const tarn::Device device(options.device);
  const bool launched = join_ranks(device);
  const int64_t ranks = distributed::get_world_size(), rank = distributed::get_rank();
  const bool first = rank == 0;  // the one that evaluates, saves and prints
  std::filesystem::create_directories(options.out);
  const std::string checkpoints = options.out + "/checkpoints";

  FashionMNIST train_images(options.data, FashionMNIST::Mode::kTrain);
  FashionMNIST test_images(options.data, FashionMNIST::Mode::kTest);
  auto loader_options =
      data::DataLoaderOptions(options.batch_size).workers(options.workers).seed(options.seed);
  auto train_loader = data::make_data_loader(
      training_data(train_images),
      data::samplers::DistributedRandomSampler(*train_images.size(), size_t(ranks), size_t(rank)),
      data::DataLoaderOptions(loader_options).drop_last(true));
  auto test_loader = data::make_data_loader<data::samplers::SequentialSampler>(
      test_data(test_images), data::DataLoaderOptions(loader_options).batch_size(500));

  const int64_t steps = int64_t(*train_images.size()) / (options.batch_size * ranks);  // per epoch
  tarn::check(steps > 0, "--batch-size: must be at most ", *train_images.size() / size_t(ranks), ", got ",
              options.batch_size);
  const int64_t total = steps * options.epochs;
  ResNet net;
  net->to(device);
  optim::SGD optimizer(net->parameters(),
                       optim::SGDOptions(options.lr).momentum(0.9).nesterov(true).weight_decay(5e-4));
  auto scheduler = optim::warmup_cosine(optimizer, /*warmup=*/std::min(steps, total / 4), total);
  Training training{device, net, optimizer, *scheduler};
  const checkpoint::State state = state_of(training, *train_loader, options);
  checkpoint::Saving saving;
  if (options.resume) resume(checkpoints, state);
  nn::parallel::DistributedDataParallel<ResNetImpl> wrapper{nullptr};
  if (launched) wrapper = nn::parallel::DistributedDataParallel(net);
  auto forward = [&](const Tensor& x) { return launched ? wrapper->forward(x) : net->forward(x); };
  if (first) announce(training, options, launched);

  std::optional<SummaryWriter> writer;
  if (first) writer.emplace(options.out, /*purge_step=*/scheduler->last_epoch());
  while (training.finished_epochs < options.epochs) {
    int64_t epoch = training.finished_epochs;
    Progress progress(tarn::str("epoch ", epoch + 1, "/", options.epochs),
                      steps * options.batch_size * ranks);
    train_epoch(training, forward, *train_loader, first ? &progress : nullptr, writer ? &*writer : nullptr);
    if (interrupted) {
      std::printf("\nstopped; start with --resume to go on after epoch %lld\n",
                  static_cast<long long>(epoch));
      return 130;
    }
    training.finished_epochs = epoch + 1;
    if (!first) continue;
    double speed = progress.images_per_second();

    double percent = accuracy(predict(training, *test_loader), test_images.targets());
    saving = checkpoint::async_save(checkpoints, state, scheduler->last_epoch(), {.keep_last = 2});
    writer->add_scalar("accuracy/test", percent, scheduler->last_epoch());
    writer->add_scalar("images per second", speed, scheduler->last_epoch());
    write_histograms(*writer, net, scheduler->last_epoch());
    writer->flush();
    char result[100];
    std::snprintf(result, sizeof result, "%.0f images/s  test accuracy %.2f %%", speed, percent);
    progress.finish(result);
  }

  if (launched) distributed::destroy_process_group();
  if (!first) return 0;
  Tensor sheet = sheet_of(test_images, predict(training, *test_loader));
  data::write_png(options.out + "/sheet.png", sheet);
  writer->add_image("test images", sheet, scheduler->last_epoch());
  writer->close();
  saving.wait();
  std::printf("wrote %s and sheet.png; curves: tensorboard --logdir %s\n", checkpoints.c_str(),
              options.out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  try {
    return run(parsed.options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "resnet: %s\n", e.what());
    return 1;
  }
}
