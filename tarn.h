// The umbrella: all of Tarn's public names.
#pragma once

#include <tarn/autograd/autograd.h>
#include <tarn/core/accessor.h>
#include <tarn/core/cuda.h>
#include <tarn/core/ops/compare.h>
#include <tarn/core/ops/contractions.h>
#include <tarn/core/ops/conv.h>
#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/creation.h>
#include <tarn/core/ops/cross_entropy.h>
#include <tarn/core/ops/indexing.h>
#include <tarn/core/ops/loss.h>
#include <tarn/core/ops/norm.h>
#include <tarn/core/ops/pointwise.h>
#include <tarn/core/ops/random.h>
#include <tarn/core/ops/reduction.h>
#include <tarn/core/ops/softmax.h>
#include <tarn/core/ops/views.h>
#include <tarn/core/parallel.h>
#include <tarn/core/print.h>
#include <tarn/core/random.h>
#include <tarn/core/tensor.h>
#include <tarn/data/data.h>
#include <tarn/nn/nn.h>
#include <tarn/optim/optim.h>
#include <tarn/serialize/serialize.h>
