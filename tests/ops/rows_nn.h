// The tables of the functions of neural networks.
#pragma once

#include <tarn/tests/ops/rows.h>

namespace tarn::testing {

std::vector<Row> nn_function_rows();  // the tables below

std::vector<Row> attention_rows();
std::vector<Row> transposed_rows();
std::vector<Row> group_norm_rows();
std::vector<Row> regression_loss_rows();
std::vector<Row> margin_loss_rows();
std::vector<Row> upsample_rows();
std::vector<Row> volume_pool_rows();
std::vector<Row> unpool_rows();
std::vector<Row> window_rows();
std::vector<Row> recurrent_rows();
std::vector<Row> grid_sample_rows();
std::vector<Row> embedding_bag_rows();
std::vector<Row> dropout_rows();
std::vector<Row> ctc_loss_rows();

}  // namespace tarn::testing
