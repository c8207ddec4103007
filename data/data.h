// Everything in tarn::data.
#pragma once

#include <tarn/data/dataset.h>
#include <tarn/data/distributed_samplers.h>
#include <tarn/data/loader.h>
#include <tarn/data/mnist.h>
#include <tarn/data/samplers.h>
#include <tarn/data/transforms.h>
