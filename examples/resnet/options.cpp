#include "options.h"

#include <tarn/data/mnist.h>
#include <CLI/CLI.hpp>
#include <cmath>

namespace {

// CLI::PositiveNumber lets nan and inf through.
CLI::Validator positive() {
  auto rule = [](std::string& text) {
    double value = 0;
    bool good = CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value);
    return good ? std::string() : "Value " + text + " is not a positive number";
  };
  return CLI::Validator(rule, "POSITIVE");
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  Options o;
  o.data = tarn::data::datasets::FashionMNIST::default_root();

  CLI::App app("Trains a ResNet on Fashion-MNIST.");
  app.add_option("--epochs", o.epochs, "passes over the training images")->check(CLI::Range(1, 100000));
  app.add_option("--batch-size", o.batch_size, "images per step")->check(CLI::Range(1, 1000000));
  app.add_option("--lr", o.lr, "highest learning rate")->check(positive());
  app.add_option("--workers", o.workers, "threads that prepare batches, 0: none beside the training's")
      ->check(CLI::Range(0, 64));
  app.add_option("--threads", o.threads, "threads that compute, 0: one per core")->check(CLI::Range(0, 1024));
  app.add_option("--seed", o.seed, "of the weights, the order and the augmentation");
  app.add_option("--device", o.device, "where the network is: cpu, cuda or cuda:N");
  app.add_flag("--resume", o.resume, "go on from the last finished epoch in --out");
  app.add_option("--data", o.data, "folder with Fashion-MNIST's four files");
  app.add_option("--out", o.out, "folder for checkpoint, event files and pictures");
  for (CLI::Option* option : app.get_options()) option->capture_default_str()->take_last();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return {o, app.exit(e)};
  }
  return {o, std::nullopt};
}
