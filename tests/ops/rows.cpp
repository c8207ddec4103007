#include <tarn/tests/ops/rows.h>
#include <tarn/tests/ops/rows_nn.h>

namespace tarn::testing {

std::vector<Row> join(const std::vector<std::vector<Row>>& tables) {
  std::vector<Row> all;
  for (const std::vector<Row>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

const std::vector<Row>& all_rows() {
  static const auto* rows = new std::vector<Row>(join({
      unary_rows(),          //
      binary_rows(),         //
      activation_rows(),     //
      reduction_rows(),      //
      contraction_rows(),    //
      convolution_rows(),    //
      pool_rows(),           //
      normalisation_rows(),  //
      loss_rows(),           //
      nn_function_rows(),    //
      view_rows(),           //
      rearrange_rows(),      //
      view_form_rows(),      //
      padding_rows(),        //
      indexing_rows(),       //
      index_along_rows(),    //
      creation_rows(),       //
      random_rows(),         //
      order_rows(),          //
      scan_rows(),           //
      distinct_rows(),       //
      draw_rows(),           //
      new_rows(),            //
  }));
  return *rows;
}

}  // namespace tarn::testing
