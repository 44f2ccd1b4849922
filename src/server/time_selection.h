#pragma once

#include <headway/v1/run_service.pb.h>

#include "runs/question.h"

namespace headway::server {

inline runs::Question ToQuestion(const v1::TimeSelection& time) {
  runs::Question question;
  if (time.has_as_of()) question.as_of = time.as_of();
  if (time.has_from()) question.from = time.from();
  if (time.has_to()) question.to = time.to();
  if (time.has_last_ns()) question.last_ns = time.last_ns();
  return question;
}

}  // namespace headway::server
