// Everything in tarn::nn.
#pragma once

#include <tarn/nn/containers.h>
#include <tarn/nn/functional.h>
#include <tarn/nn/init.h>
#include <tarn/nn/modules/activation.h>
#include <tarn/nn/modules/conv.h>
#include <tarn/nn/modules/dropout.h>
#include <tarn/nn/modules/linear.h>
#include <tarn/nn/modules/loss.h>
#include <tarn/nn/modules/normalization.h>
#include <tarn/nn/modules/pooling.h>
#include <tarn/nn/sequential.h>
#include <tarn/nn/utils.h>
