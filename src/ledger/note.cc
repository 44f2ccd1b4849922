#include "ledger/note.h"

#include <cstdio>

namespace headway::ledger {
namespace {

struct NoteWords {
  std::string_view code;
  std::string_view message;
};

constexpr std::array<NoteWords, kNoteCount> kRows = {{
    {"clock_step",
     "the system clock was stepped by more than 1 s; durations follow the monotonic "
     "clock and are not affected"},
    {"out_of_order",
     "records were stamped earlier than the record before them in the same writer "
     "and are taken at that one's time"},
    {"seq_conflict", "different records carry the same sequence number; all are kept"},
    {"implicit_attempt", "a restart was inferred although no job start was recorded"},
    {"after_end", "records after the end of their attempt are ignored"},
    {"failed_after_end",
     "the process failed after its job had ended cleanly; the attempt counts as clean"},
    {"no_job_start", "attempts without a job start begin at their first record"},
    {"start_missing",
     "the first record is from the middle of a job: what came before it is not in any figure"},
    {"several_leads", "several processes of one attempt record as its lead; the first one counts"},
    {"no_lead", "attempts without a record of rank 0 are led by their lowest rank"},
    {"clock_overlap",
     "an attempt has records after the next one's start and is cut there, or starts before "
     "the one it follows by its number"},
    {"presumed_lost",
     "heartbeats stopped: the attempt is taken to have ended at its last sign of "
     "life"},
    {"span_unclosed",
     "spans have no end and are closed at the next begin of their kind, the next "
     "step or the attempt's end"},
    {"span_unopened", "span ends without a begin are ignored"},
    {"no_baseline", "steps could not be compared with a normal step time"},
    {"weak_baseline", "the normal step time rests on one or two steps"},
    {"baseline_shift", "the normal step time changed for good"},
    {"input_bound",
     "loading takes nearly all of each step: steps may be waiting for data although "
     "the host's clock cannot tell"},
    {"step_gap", "a restart skipped step numbers; the steps between are unknown"},
    {"step_reset", "the step counter started over without a restore; steps are counted on"},
    {"no_steps", "no step was recorded"},
    {"time_range", "times outside of the representable range are clamped"},
    {"dropped_records", "records were dropped by the recorder"},
    {"torn_tail",
     "the last record was cut off and is ignored; of a journal headway runs show names the byte"},
    {"bad_line", "lines of an event file could not be read and are ignored"},
    {"unknown_type", "records of an unknown type are ignored"},
    {"run_name_reused", "the name was used again after a clean end; this is a run of its own"},
    {"journal_damage",
     "parts of a journal are damaged and are skipped; headway runs show names file and byte"},
    {"journal_hole",
     "records were being written when their process died and are missing; headway runs show names "
     "file and byte"},
}};

}  // namespace

std::string_view NoteCode(Note note) { return kRows[static_cast<std::size_t>(note)].code; }

bool ParseNote(std::string_view code, Note* note) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].code == code) {
      *note = static_cast<Note>(i);
      return true;
    }
  }
  return false;
}

std::string NoteMessage(Note note, std::int64_t count, double seconds) {
  std::string message(kRows[static_cast<std::size_t>(note)].message);
  if (seconds != 0) {
    char text[48];
    std::snprintf(text, sizeof text, " (%.3f s)", seconds);
    message += text;
  }
  if (count > 1) message += " [" + std::to_string(count) + " times]";
  return message;
}

}  // namespace headway::ledger
