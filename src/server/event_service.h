#pragma once

#include <headway/v1/event_service.pb.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_items.h"
#include "server/run_registry.h"
#include "store/store.h"

namespace headway::server {

/// EventService of proto/. Any thread.
class EventService {
 public:
  /// All must outlive it.
  EventService(store::Store* store, RunRegistry* registry, const Clock* clock);

  void AddTo(ConnectRouter* router);

  Result<v1::CreateEventResponse> Create(const Caller& caller,
                                         const v1::CreateEventRequest& request);
  Result<v1::Event> Update(const Caller& caller, const v1::UpdateEventRequest& request);
  Result<v1::DeleteEventResponse> Delete(const Caller& caller,
                                         const v1::DeleteEventRequest& request);
  Result<v1::Event> Get(const Caller& caller, const v1::GetEventRequest& request) const;
  Result<v1::ListEventsResponse> List(const Caller& caller,
                                      const v1::ListEventsRequest& request) const;

 private:
  Result<v1::Event> Show(const Result<store::ItemRow>& item) const;

  RunItems items_;
};

}  // namespace headway::server
