#include "formats/gcp/accelerator.h"

namespace headway::gcp {

std::string_view AcceleratorOf(std::string_view machine_type) {
  // The first that the type contains counts.
  static constexpr struct {
    std::string_view part, label;
  } kLabels[] = {
      {"tpu7x", "TPU-7x"},
      {"ct6e", "TPU-v6e"},
      {"ct5p", "TPU-v5p"},
      {"ct5lp", "TPU-v5e"},
      {"ct5l", "TPU-v5e"},
      {"ct4p", "TPU-v4p"},
      {"ct3p", "TPU-v3"},
      {"ct3", "TPU-v3"},
      {"tpu-v2", "TPU-v2"},
      {"tpu", "TPU"},
      {"a3-edgegpu", "NVIDIA-H100"},
      {"a3-highgpu", "NVIDIA-H100"},
      {"a3-megagpu", "NVIDIA-H100"},
      {"a3-ultragpu", "NVIDIA-H200"},
      {"a2", "NVIDIA-A100"},
      {"gpu", "GPU"},
  };
  for (const auto& [part, label] : kLabels) {
    if (machine_type.find(part) != std::string_view::npos) return label;
  }
  return "UNKNOWN";
}

}  // namespace headway::gcp
