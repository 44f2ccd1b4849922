#include "server/journal_service.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/test_scratch_dir.h"
#include "journal/format.h"
#include "packing/slots.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

using journal::kSlotBytes;

class JournalServiceTest : public testing::Test {
 protected:
  JournalServiceTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    service_ = std::make_unique<JournalService>(store_.get(), &clock_);
    header_.uid = RandomUid<JournalUid>();
    header_.run_uid = RandomUid<RunUid>();
    header_.project = "p";
    header_.run = "r";
    header_.anchor = {WallNs{1'000}, MonoNs{0}};
  }

  std::string Uid() const {
    return {reinterpret_cast<const char*>(header_.uid.bytes.data()), header_.uid.bytes.size()};
  }
  std::string HeaderBytes() const {
    const auto bytes = EncodeHeader(header_);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // A finished slot, as a journal has it at `index`.
  std::string Slot(std::uint64_t index, std::int64_t a) const {
    const std::uint32_t high = journal::MetaHigh(RecordType::kStepStart, 0);
    journal::Slot slot;
    slot.time = 7;
    slot.a = a;
    slot.meta =
        std::uint64_t{high} << 32 | journal::SlotCrc(journal::SaltOf(header_.uid), index, high, 7,
                                                     static_cast<std::uint64_t>(a), 0);
    std::string bytes(kSlotBytes, '\0');
    std::memcpy(bytes.data(), &slot, kSlotBytes);
    return bytes;
  }
  std::string Slots(std::uint64_t first, std::uint64_t count) const {
    std::string all;
    for (std::uint64_t i = first; i < first + count; ++i) {
      all += Slot(i, static_cast<std::int64_t>(i));
    }
    return all;
  }
  v1::JournalPiece Piece(std::uint64_t first, std::string slots, bool header = true) const {
    v1::JournalPiece piece;
    piece.set_uid(Uid());
    if (header) piece.set_header(HeaderBytes());
    piece.set_first_slot(first);
    piece.set_slots(std::move(slots));
    piece.set_writer(v1::WRITER_STATE_ALIVE);
    return piece;
  }
  Result<v1::AppendJournalsResponse> Send(const std::vector<v1::JournalPiece>& pieces) {
    v1::AppendJournalsRequest request;
    for (const v1::JournalPiece& piece : pieces) *request.add_pieces() = piece;
    return service_->AppendJournals(caller_, request);
  }
  v1::JournalPosition Put(const v1::JournalPiece& piece) {
    const auto response = Send({piece});
    EXPECT_TRUE(response.ok()) << response.status().ToString();
    return response.ok() ? response->positions(0) : v1::JournalPosition();
  }
  Code CodeOf(const v1::JournalPiece& piece) { return Send({piece}).status().code(); }
  std::string Kept() {
    const Result<std::string> kept = store_->ReadSlots(header_.uid, 0, 1 << 20);
    return kept.ok() ? *kept : kept.status().ToString();
  }

  Caller caller_;
  ScratchDir dir_;
  FakeClock clock_;
  journal::Header header_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<JournalService> service_;
};

TEST_F(JournalServiceTest, TakesAJournalPieceByPiece) {
  EXPECT_TRUE(Put(Piece(0, Slots(0, 2), false)).header_needed());
  EXPECT_EQ(Put(Piece(0, Slots(0, 2))).slots(), 2u);
  EXPECT_EQ(Put(Piece(2, Slots(2, 3), false)).slots(), 5u);
  EXPECT_EQ(Put(Piece(2, Slots(2, 3), false)).slots(), 5u) << "twice";
  EXPECT_EQ(Put(Piece(1, Slots(1, 6), false)).slots(), 7u) << "some of it again";
  EXPECT_EQ(Put(Piece(9, Slots(9, 1), false)).slots(), 7u) << "a gap";
  EXPECT_EQ(Kept(), Slots(0, 7));
  const Result<store::Journal> journal = store_->FindJournal(header_.uid);
  ASSERT_TRUE(journal.ok());
  EXPECT_EQ(journal->identity.project, "p");
  EXPECT_EQ(journal->identity.run, "r");
  EXPECT_EQ(journal->identity.start, 1'000);
  EXPECT_EQ(journal->state.writer, Liveness::kAlive);
  EXPECT_EQ(journal->state.heard, clock_.Wall().ns);
}

TEST_F(JournalServiceTest, PackedSlotsAreSlots) {
  packing::SlotPacker packer;
  const auto packed = [&](std::uint64_t first, const std::string& slots) {
    v1::JournalPiece piece = Piece(first, "");
    // In two parts.
    const std::size_t half = slots.size() / kSlotBytes / 2 * kSlotBytes;
    std::uint64_t at = first;
    for (const std::string& part : {slots.substr(0, half), slots.substr(half)}) {
      const std::string_view bytes = *packer.Pack(header_.uid, at, part);
      v1::PackedSlots* const added = piece.add_packed();
      added->set_slots(static_cast<std::uint32_t>(part.size() / kSlotBytes));
      added->set_codec(packing::kSlotsCodec);
      added->set_bytes(bytes.data(), bytes.size());
      at += part.size() / kSlotBytes;
    }
    return piece;
  };
  EXPECT_EQ(Put(packed(0, Slots(0, 100))).slots(), 100u);
  EXPECT_EQ(Put(packed(0, Slots(0, 100))).slots(), 100u) << "twice";
  EXPECT_EQ(Put(packed(90, Slots(90, 20))).slots(), 110u) << "some of it again";
  const std::string hole(kSlotBytes, '\0');
  EXPECT_EQ(Put(packed(110, Slot(110, 110) + hole + Slot(112, 112))).slots(), 113u);
  EXPECT_TRUE(Kept() == Slots(0, 111) + hole + Slot(112, 112));
  EXPECT_EQ(Put(packed(110, Slots(110, 3))).slots(), 113u);
  EXPECT_EQ(Put(packed(114, Slots(114, 4))).slots(), 113u) << "a gap";
  EXPECT_TRUE(Kept() == Slots(0, 113));

  v1::JournalPiece bad = packed(113, Slots(113, 40));
  (*bad.mutable_packed(1)->mutable_bytes())[9] ^= 1;
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument) << "damaged";
  bad = packed(113, Slots(113, 40));
  bad.mutable_packed(0)->set_slots(21);
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument);
  bad.mutable_packed(0)->set_slots(packing::kSlotsMost + 1);
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument);
  bad.mutable_packed(0)->set_slots(0);
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument);
  bad = packed(113, Slots(113, 40));
  bad.mutable_packed(0)->set_codec(1);
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument);
  bad = packed(113, Slots(113, 40));
  bad.set_slots(Slots(113, 40));
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument) << "both kinds";
  // A small body that stands for very much.
  const std::string zeros(packing::kSlotsMost * kSlotBytes, '\0');
  const std::string bomb(*packer.Pack(header_.uid, 0, zeros));
  bad = Piece(113, "");
  for (std::uint64_t i = 0; i <= limits::kAppendSlots / packing::kSlotsMost; ++i) {
    v1::PackedSlots* const added = bad.add_packed();
    added->set_slots(packing::kSlotsMost);
    added->set_codec(packing::kSlotsCodec);
    added->set_bytes(bomb);
  }
  EXPECT_EQ(CodeOf(bad), Code::kInvalidArgument);
  EXPECT_TRUE(Kept() == Slots(0, 113));
}

TEST_F(JournalServiceTest, HolesAreFilledAndNothingElseChanges) {
  const std::string hole(kSlotBytes, '\0');
  Put(Piece(0, Slot(0, 0) + hole + hole + Slot(3, 3)));
  Put(Piece(0, hole + hole + hole + hole));
  EXPECT_EQ(Kept(), Slot(0, 0) + hole + hole + Slot(3, 3)) << "an older look";
  Put(Piece(0, Slot(0, 99) + Slot(1, 1)));
  EXPECT_EQ(Kept(), Slot(0, 0) + Slot(1, 1) + hole + Slot(3, 3)) << "what is finished stays";
  const std::string damaged(kSlotBytes, 'x');
  Put(Piece(2, damaged));
  EXPECT_EQ(Kept(), Slot(0, 0) + Slot(1, 1) + hole + Slot(3, 3)) << "it may be finished yet";
  v1::JournalPiece last = Piece(0, damaged + damaged + damaged + damaged);
  last.set_final(true);
  Put(last);
  EXPECT_EQ(Kept(), Slot(0, 0) + Slot(1, 1) + damaged + Slot(3, 3));
}

TEST_F(JournalServiceTest, AQuestionWithAHeaderAsksForItsRun) {
  v1::JournalPiece question;
  question.set_uid(Uid());
  question.set_header(HeaderBytes());
  EXPECT_TRUE(Put(question).header_needed());
  EXPECT_FALSE(store_->FindJournal(header_.uid).ok()) << "it only asks";
  Put(Piece(0, Slots(0, 3)));
  EXPECT_EQ(Put(question).slots(), 3u);
  EXPECT_EQ(store_->FindJournal(header_.uid)->state.writer, Liveness::kAlive);
  // The same journal under another name is of another run.
  header_.run = "renamed";
  header_.run_uid = RandomUid<RunUid>();
  question.set_header(HeaderBytes());
  const Status status = Send({question}).status();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_NE(status.message().find("one of run \"r\""), std::string::npos) << status.message();
}

TEST_F(JournalServiceTest, TheEndIsToldWithAChecksum) {
  Put(Piece(0, Slots(0, 3)));
  v1::JournalPiece end = Piece(3, "", false);
  end.set_writer(v1::WRITER_STATE_DEAD);
  EXPECT_EQ(CodeOf(end), Code::kInvalidArgument) << "without";
  const std::string all = Slots(0, 3);
  end.set_checksum(Crc32c(all.data(), all.size()) + 1);
  v1::JournalPosition position = Put(end);
  EXPECT_EQ(position.slots(), 0u) << "another one: send all again";
  EXPECT_FALSE(position.complete());
  EXPECT_EQ(store_->FindJournal(header_.uid)->state.writer, Liveness::kAlive);
  end.set_checksum(Crc32c(all.data(), all.size()));
  position = Put(end);
  EXPECT_EQ(position.slots(), 3u);
  EXPECT_TRUE(position.complete());
  EXPECT_EQ(store_->FindJournal(header_.uid)->state.writer, Liveness::kDead);

  v1::JournalPiece question;
  question.set_uid(Uid());
  position = Put(question);
  EXPECT_TRUE(position.complete());
  EXPECT_EQ(store_->FindJournal(header_.uid)->state.writer, Liveness::kDead) << "it only asks";
  // Nothing opens it again.
  for (const v1::JournalPiece& more :
       {Piece(0, ""), Piece(3, Slots(3, 1)), Piece(0, Slots(0, 4), false), Piece(9, "", false)}) {
    position = Put(more);
    EXPECT_TRUE(position.complete());
    EXPECT_EQ(position.slots(), 3u);
    EXPECT_EQ(store_->FindJournal(header_.uid)->state.writer, Liveness::kDead);
  }
  EXPECT_EQ(Kept(), Slots(0, 3));
  end.set_first_slot(2);
  EXPECT_EQ(Put(end).slots(), 3u) << "it was told before";
  end.set_slots(Slot(2, 2));
  EXPECT_EQ(CodeOf(end), Code::kInvalidArgument) << "with slots";
}

TEST_F(JournalServiceTest, AnEndBeforeWhatIsKeptIsNone) {
  Put(Piece(0, Slots(0, 3)));
  const std::string two = Slots(0, 2);
  v1::JournalPiece end = Piece(2, "", false);
  end.set_writer(v1::WRITER_STATE_DEAD);
  end.set_checksum(Crc32c(two.data(), two.size()));
  const v1::JournalPosition position = Put(end);
  EXPECT_EQ(position.slots(), 0u);
  EXPECT_FALSE(position.complete());
  EXPECT_EQ(Kept(), Slots(0, 3));
}

TEST_F(JournalServiceTest, RefusesWhatIsNoPiece) {
  struct Case {
    const char* what;
    void (*change)(v1::JournalPiece*);
  };
  const Case cases[] = {
      {"a short uid", [](auto* piece) { piece->mutable_uid()->pop_back(); }},
      {"no uid", [](auto* piece) { piece->clear_uid(); }},
      {"another uid", [](auto* piece) { (*piece->mutable_uid())[0] ^= 1; }},
      {"a part of a slot", [](auto* piece) { piece->mutable_slots()->pop_back(); }},
      {"a short header", [](auto* piece) { piece->mutable_header()->resize(100); }},
      {"a damaged header", [](auto* piece) { (*piece->mutable_header())[100] ^= 1; }},
      {"slots beyond all", [](auto* piece) { piece->set_first_slot(~std::uint64_t{0}); }},
      {"counters", [](auto* piece) { piece->set_counters("x"); }},
  };
  for (const Case& c : cases) {
    v1::JournalPiece piece = Piece(0, Slots(0, 1));
    c.change(&piece);
    EXPECT_EQ(CodeOf(piece), Code::kInvalidArgument) << c.what;
  }
  EXPECT_TRUE(store_->ListProjects()->empty());
  EXPECT_EQ(Send(std::vector(1001, Piece(0, ""))).status().code(), Code::kInvalidArgument);
}

TEST_F(JournalServiceTest, AllOfARequestOrNothing) {
  const auto sent = Send({Piece(0, Slots(0, 2)), Piece(2, Slots(2, 2), false)});
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(sent->positions(0).slots(), 2u);
  EXPECT_EQ(sent->positions(1).slots(), 4u);
  v1::JournalPiece bad = Piece(0, Slots(0, 1));
  bad.set_uid("x");
  EXPECT_FALSE(Send({Piece(4, Slots(4, 1)), bad}).ok());
  EXPECT_FALSE(Send({Piece(4, Slots(4, 2)), Piece(5, Slots(5, 2))}).ok()) << "they overlap";
  EXPECT_EQ(Kept(), Slots(0, 4));
}

TEST_F(JournalServiceTest, NobodyWritesIntoAnotherProjectsRun) {
  Put(Piece(0, Slots(0, 1)));
  header_.uid = RandomUid<JournalUid>();
  header_.project = "q";
  EXPECT_EQ(CodeOf(Piece(0, Slots(0, 1))), Code::kAlreadyExists);
}

}  // namespace
}  // namespace headway::server
