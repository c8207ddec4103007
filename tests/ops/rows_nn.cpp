#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

std::vector<Row> nn_function_rows() {
  return join({
      attention_rows(),        //
      transposed_rows(),       //
      group_norm_rows(),       //
      regression_loss_rows(),  //
      margin_loss_rows(),      //
      upsample_rows(),         //
      volume_pool_rows(),      //
      unpool_rows(),           //
      window_rows(),           //
      recurrent_rows(),        //
      grid_sample_rows(),      //
      embedding_bag_rows(),    //
      dropout_rows(),          //
      ctc_loss_rows(),         //
  });
}

}  // namespace tarn::testing
