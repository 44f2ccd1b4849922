#pragma once

#include <headway/v1/record_service.pb.h>

#include <cstdint>
#include <map>
#include <string>

#include "model/name_table.h"
#include "model/packed_records.h"
#include "model/record.h"
#include "wire/record.h"

namespace headway::server {

/// Records of one journal on their way onto a page, with the names that they have, each once.
class RecordPage {
 public:
  /// Both must outlive it.
  RecordPage(const NameTable* names, v1::ListRecordsResponse* page) : names_(names), page_(page) {}

  void Put(const Record& record, bool packed, v1::JournalRecords* part) {
    const std::uint32_t name = PlaceOf(record.name);
    packed ? AppendPacked(record, name, part->mutable_packed())
           : wire::Fill(record, name, part->add_records());
  }

 private:
  std::uint32_t PlaceOf(NameId id) {
    if (id == 0) return 0;
    const auto [known, fresh] = places_.emplace(id, page_->names_size() + 1);
    if (fresh) page_->add_names(std::string(names_->Text(id)));
    return known->second;
  }

  const NameTable* names_;
  v1::ListRecordsResponse* page_;
  std::map<NameId, std::uint32_t> places_;
};

/// The beginning of a journal, without the zeros at its end.
inline std::string HeaderOnPage(const std::string& header) {
  return header.substr(0, header.find_last_not_of('\0') + 1);
}

}  // namespace headway::server
