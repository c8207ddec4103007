// Everything in tarn::optim.
#pragma once

#include <tarn/optim/adam.h>
#include <tarn/optim/grad_scaler.h>
#include <tarn/optim/lr_scheduler.h>
#include <tarn/optim/optimizer.h>
#include <tarn/optim/sgd.h>
