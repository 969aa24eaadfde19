package eventlog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// refusal is a call that must fail with a given error.
type refusal struct {
	name string
	err  error
	code noregret.Code
	want string
}

// foreignFiles creates a file and a directory with a foreign file.
func foreignFiles(t *testing.T, fs FS) {
	t.Helper()
	if err := writeFile(fs, "/", "file", nil); err != nil {
		t.Fatal(err)
	}
	if err := makeDirs(fs, "other"); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(fs, "other", "notes.txt", nil); err != nil {
		t.Fatal(err)
	}
}

// callRefusals returns the failing calls for a log with the events 5 to 10 and a snapshot at 6.
func callRefusals(ctx context.Context, s *Store) []refusal {
	add := func(events ...Event) error { _, _, err := s.Append(ctx, events...); return err }
	read := func(from uint64) error {
		for _, err := range s.Read(ctx, from) {
			return err
		}
		return nil
	}
	tail := func(from uint64) error {
		for _, err := range s.Tail(ctx, from) {
			return err
		}
		return nil
	}
	e := Event{Kind: "k"}
	return []refusal{
		{"no events", add(), noregret.Usage, "append: 0 events: 1 to 3 are allowed (Options.GroupEvents)"},
		{"too many", add(e, e, e, e), noregret.Usage, "append: 4 events: 1 to 3 are allowed (Options.GroupEvents)"},
		{"no kind", add(e, Event{}), noregret.Usage, `append: event 1: kind "": it must have 1 to 64 bytes`},
		{
			"long kind", add(Event{Kind: strings.Repeat("k", 65)}), noregret.Usage,
			`append: event 0: kind "` + strings.Repeat("k", 65) + `": it must have 1 to 64 bytes`,
		},
		{
			"kind", add(Event{Kind: "a b"}), noregret.Usage,
			`append: event 0: kind "a b": it must consist of letters, digits and . _ - /`,
		},
		{
			"payload", add(Event{Kind: "k", Payload: make([]byte, 101)}), noregret.Usage,
			"append: event 0: the payload has 101 bytes: at most 100 are allowed (Options.MaxEventBytes)",
		},
		{"read 0", read(0), noregret.Usage, "log: cannot read from position 0: it must be 1 to 11"},
		{"read 12", read(12), noregret.Usage, "log: cannot read from position 12: it must be 1 to 11"},
		{"read compacted", read(4), noregret.NotFound, "log: the position was compacted away: 4, the first is 5"},
		{"tail 12", tail(12), noregret.Usage, "log: cannot read from position 12: it must be 1 to 11"},
		{"tail compacted", tail(1), noregret.NotFound, "log: the position was compacted away: 1, the first is 5"},
		{
			"snapshot beyond", s.SaveSnapshot(ctx, 11, nil), noregret.Usage,
			"snapshot: position 11: it must lie between 6 (the latest snapshot or the first event) and 10 (the last " +
				"event)",
		},
		{
			"snapshot before", s.SaveSnapshot(ctx, 5, nil), noregret.Usage,
			"snapshot: position 5: it must lie between 6 (the latest snapshot or the first event) and 10 (the last " +
				"event)",
		},
		{
			"compact", s.Compact(ctx, 7), noregret.Usage,
			"compact: position 7: it must be at most 6, that of the latest intact snapshot; later events " +
				"would be lost",
		},
	}
}

// directoryRefusals are the refusals of directories that cannot hold a log or whose log is in use.
func directoryRefusals(ctx context.Context, fs FS) []refusal {
	openAt := func(dir string) error { _, err := Open(fs, dir, DefaultOptions()); return err }
	_, missing := Check(ctx, fs, "nowhere")
	_, inUse := Check(ctx, fs, "log")
	_, inUse2 := Repair(ctx, fs, "log", RepairOptions{})
	return []refusal{
		{"a file", openAt("/file"), noregret.Internal, "/file: making the directory: mkdir /file: not a directory"},
		{
			"foreign", openAt("other"), noregret.Usage,
			`other: the directory holds "notes.txt" and no log: use an empty or a new directory`,
		},
		{"in use", openAt("log"), noregret.Internal, "log: the log is in use by another process or cannot be locked: "},
		{"check in use", inUse, noregret.Internal, "log: the log is in use by another process or cannot be locked: "},
		{"repair in use", inUse2, noregret.Internal, "log: the log is in use by another process or cannot be locked: "},
		{
			"check nothing", missing, noregret.NotFound,
			"nowhere: no log here: a log is a directory with mark, events and snapshots",
		},
	}
}

// with returns the default options with a change.
func with(change func(o *Options)) Options {
	o := DefaultOptions()
	change(&o)
	return o
}

// optionRefusals are the refusals of options.
func optionRefusals(fs FS) []refusal {
	_, opened := Open(fs, "new", with(func(o *Options) { o.QueueBytes = 1 }))
	return []refusal{
		{
			"event size", with(func(o *Options) { o.MaxEventBytes = -1 }).Validate(), noregret.Usage,
			"eventlog.Options: MaxEventBytes is -1: it must be 1 to 16777216",
		},
		{
			"group", with(func(o *Options) { o.GroupEvents = 1 << 17 }).Validate(), noregret.Usage,
			"eventlog.Options: GroupEvents is 131072: it must be 1 to 65536",
		},
		{
			"group bytes", with(func(o *Options) { o.GroupBytes = 1000 }).Validate(), noregret.Usage,
			"eventlog.Options: GroupBytes is 1000: it must be 1049600 to 67108864",
		},
		{
			"queue", with(func(o *Options) { o.QueueBytes = 1 }).Validate(), noregret.Usage,
			"eventlog.Options: QueueBytes is 1: it must be 4194304 to 1073741824",
		},
		{
			"flush", with(func(o *Options) { o.FlushBytes = 1 }).Validate(), noregret.Usage,
			"eventlog.Options: FlushBytes is 1: it must be 16777216 to 1073741824",
		},
		{
			"keep", with(func(o *Options) { o.KeepSnapshots = 101 }).Validate(), noregret.Usage,
			"eventlog.Options: KeepSnapshots is 101: it must be 1 to 100",
		},
		{
			"open with them", opened, noregret.Usage,
			"eventlog.Options: QueueBytes is 1: it must be 4194304 to 1073741824",
		},
	}
}

// Every error states the value and what is allowed, and the failed call changes nothing.
func TestRefusals(t *testing.T) {
	noLeaks(t)
	ctx := context.Background()
	fs := vfs.NewMem()
	s, err := Open(fs, "log", with(func(o *Options) {
		o.MaxEventBytes, o.GroupEvents, o.GroupBytes = 100, 3, 1200
	}))
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, s, 10)
	for _, p := range []uint64{4, 6} {
		if err := s.SaveSnapshot(ctx, p, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(ctx, 4); err != nil {
		t.Fatal(err)
	}
	e := Event{Kind: "k"}
	foreignFiles(t, fs)
	var all []refusal
	all = append(all, callRefusals(ctx, s)...)
	all = append(all, directoryRefusals(ctx, fs)...)
	all = append(all, optionRefusals(fs)...)
	for _, tc := range all {
		text := fmt.Sprint(tc.err)
		if noregret.CodeOf(tc.err) != tc.code || text != tc.want &&
			!(strings.HasSuffix(tc.want, ": ") && strings.HasPrefix(text, tc.want)) {
			t.Errorf("%s: got %s (%s), want %s", tc.name, text, noregret.CodeOf(tc.err), tc.want)
		}
	}
	if st := s.Stats(); st.Last != 10 || st.First != 5 || st.Snapshot != 6 {
		t.Errorf("a refusal changed something: %+v", st)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range map[string]error{
		"append":   func() error { _, _, err := s.Append(cancelled, e); return err }(),
		"snapshot": s.SaveSnapshot(cancelled, 10, nil), "compact": s.Compact(cancelled, 6),
	} {
		if err == nil {
			t.Errorf("%s with a context that has ended: no error", name)
		}
	}
	closeLog(t, s)
	if err := (Options{}).Validate(); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("the zero value: %v", err)
	}
}
