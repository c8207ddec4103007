// Rows of padding and of the shuffles of channels and pixels.
#include <tarn/core/ops/rearrange.h>

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

#define MOVES .dtypes = kEveryDtype, .grad = true

namespace {

std::vector<Row> border_rows() {
  return {
      {.name = "pad",
       MOVES,
       .samples = {S(pad(x, {1, 2}), {2, 3}), S(pad(x, {1, 0, 2, 1}, "constant", 1.5), {2, 3, 4}),
                   S(pad(x, {-1, 2}), {2, 4}), S(pad(x, {-2, 1, -1, -1}), {4, 4}), S(pad(x, {0, 0}), {2, 3}),
                   S(pad(x, {}), {}), S(pad(x, {1, 1}), {2, 0}), S(pad(x, {2, 1}, "reflect"), {2, 4}),
                   S(pad(x, {1, 2, 2, 0}, "reflect"), {2, 3, 3}), S(pad(x, {-1, 2}, "reflect"), {2, 4}),
                   S(pad(x, {1, 1, 0, 1, 1, 0}, "reflect"), {1, 2, 2, 2}),
                   S(pad(x, {3, 1}, "replicate"), {2, 4}), S(pad(x, {1, 2, 2, 0}, "replicate"), {2, 3, 3}),
                   S(pad(x, {0, 1, 1, 0, 1, 2}, "replicate"), {1, 2, 2, 2}),
                   S(pad(x, {2, 4}, "circular"), {2, 4}), S(pad(x, {-1, 2}, "circular"), {2, 4}),
                   S(pad(x, {1, 2, 2, 0}, "circular"), {1, 2, 3, 3}),
                   S(pad(x, {1, 1, 1, 0, 0, 1}, "circular"), {2, 1, 2, 2, 2})},
       .errors = {E("pad: pad must have two numbers a dim, got [1]", pad(x, {1}), {3}),
                  E("pad: pad [1, 1, 1, 1] is for more dims than a tensor of sizes [3] has",
                    pad(x, {1, 1, 1, 1}), {3}),
                  E("pad: pad [-2, -2] leaves no size for dim 0 of a tensor of sizes [3]", pad(x, {-2, -2}),
                    {3}),
                  E("pad: pad [9223372036854775807, 0] leaves no size for dim 0 of a tensor of sizes [3]",
                    pad(x, {INT64_MAX, 0}), {3}),
                  E("pad: mode must be constant, reflect, replicate or circular, got \"edge\"",
                    pad(x, {1, 1}, "edge"), {2, 3}),
                  E("pad: mode reflect takes no value, got 2", pad(x, {1, 1}, "reflect", 2), {2, 3}),
                  E("pad: reflect needs pads smaller than the size, got 3 and 1 for dim 1 of a tensor of "
                    "sizes [2, 3]",
                    pad(x, {3, 1}, "reflect"), {2, 3}),
                  E("pad: circular needs pads of at most the size, got 1 and 4 for dim 1 of a tensor of "
                    "sizes [2, 3]",
                    pad(x, {1, 4}, "circular"), {2, 3}),
                  E("pad: dim 1 of a tensor of sizes [2, 0] has nothing to repeat",
                    pad(x, {1, 1}, "replicate"), {2, 0}),
                  E("pad: replicate by -2 and -1 leaves no size for dim 1 of a tensor of sizes [2, 3]",
                    pad(x, {-2, -1}, "replicate"), {2, 3}),
                  E("pad: replicate pads the last 1, 2 or 3 dims of (C, ...) or (N, C, ...) tensors, got pad "
                    "[1, 1] "
                    "for sizes [3]",
                    pad(x, {1, 1}, "replicate"), {3})}},
      {.name = "constant_pad_nd",
       MOVES,
       .samples = {S(constant_pad_nd(x, {1, 2}), {2, 3}), S(constant_pad_nd(x, {1, 0, 2, 1}, 2), {2, 3}),
                   S(constant_pad_nd(x, {}), {}), S(constant_pad_nd(x, {1, 1}, 1), {0})},
       .errors = {E("constant_pad_nd: pad must have two numbers a dim, got [1]", constant_pad_nd(x, {1}),
                    {3}),
                  E("constant_pad_nd: pad [1, 1] is for more dims than a tensor of sizes [] has",
                    constant_pad_nd(x, {1, 1}), {}),
                  E("constant_pad_nd: pad [-4, 0] leaves no size for dim 0 of a tensor of sizes [3]",
                    constant_pad_nd(x, {-4, 0}), {3})}},
  };
}

std::vector<Row> shuffle_rows() {
  return {
      {.name = "pixel_shuffle",
       MOVES,
       .samples = {S(pixel_shuffle(x, 2), {8, 2, 3}), S(pixel_shuffle(x, 3), {2, 9, 1, 2}),
                   S(pixel_shuffle(x, 1), {2, 3, 2}),
                   S_PY("x.reshape(0, 1, 4, 6)", pixel_shuffle(x, 2), {0, 4, 2, 3})},
       .errors = {E("pixel_shuffle: the tensor must be (..., C, H, W), got sizes [4, 2]", pixel_shuffle(x, 2),
                    {4, 2}),
                  E("pixel_shuffle: upscale_factor must be positive, got 0", pixel_shuffle(x, 0), {4, 2, 2}),
                  E("pixel_shuffle: 6 channels cannot be divided by the square of upscale_factor 2",
                    pixel_shuffle(x, 2), {6, 2, 2})},
       .no_scalar = "needs three dims"},
      {.name = "pixel_unshuffle",
       MOVES,
       .samples = {S(pixel_unshuffle(x, 2), {2, 4, 6}), S(pixel_unshuffle(x, 3), {1, 2, 3, 6}),
                   S_PY("x.reshape(0, 4, 1, 2)", pixel_unshuffle(x, 2), {0, 1, 2, 4})},
       .errors = {E("pixel_unshuffle: the tensor must be (..., C, H, W), got sizes [4, 2]",
                    pixel_unshuffle(x, 2), {4, 2}),
                  E("pixel_unshuffle: downscale_factor must be positive, got -1", pixel_unshuffle(x, -1),
                    {4, 2, 2}),
                  E("pixel_unshuffle: height 3 and width 2 cannot be divided by downscale_factor 2",
                    pixel_unshuffle(x, 2), {1, 3, 2})},
       .no_scalar = "needs three dims"},
      {.name = "channel_shuffle",
       MOVES,
       .samples = {S(channel_shuffle(x, 2), {1, 4, 2}), S(channel_shuffle(x, 3), {2, 6, 2, 1}),
                   S(channel_shuffle(x, 1), {2, 3, 2}), S(channel_shuffle(x, 2), {0, 4, 2})},
       .errors = {E("channel_shuffle: the tensor must be (N, C, ...) with at least 3 dims, got sizes [4, 2]",
                    channel_shuffle(x, 2), {4, 2}),
                  E("channel_shuffle: groups must be positive, got 0", channel_shuffle(x, 0), {1, 4, 2}),
                  E("channel_shuffle: 4 channels cannot be divided into 3 groups", channel_shuffle(x, 3),
                    {1, 4, 2})},
       .no_scalar = "needs three dims"},
  };
}

}  // namespace

std::vector<Row> padding_rows() { return join({border_rows(), shuffle_rows()}); }

}  // namespace tarn::testing
