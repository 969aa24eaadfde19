package eventlog

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// feedback is an event of a size that is typical of the decision service.
var feedback = Event{
	Kind: "feedback", Time: 1_700_000_000_000_000_000,
	Payload: fmt.Appendf(nil, `{"token":%q,"metrics":{"clicks":1,"seconds":12.5}}`, make([]byte, 20)),
}

func benchLog(b *testing.B, fs FS) (*Store, string) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "log")
	s, err := Open(fs, dir, DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s, dir
}

func report(b *testing.B, s *Store) {
	st := s.Stats()
	b.ReportMetric(float64(st.Events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(st.Events)/float64(st.Groups), "events/flush")
}

// BenchmarkAppend appends durably to the disk of the machine: one event a call, many, and from many
// goroutines.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s, _ := benchLog(b, nil)
			events := make([]Event, batch)
			for i := range events {
				events[i] = feedback
			}
			for b.Loop() {
				if _, _, err := s.Append(context.Background(), events...); err != nil {
					b.Fatal(err)
				}
			}
			report(b, s)
		})
	}
	for _, parallel := range []int{8, 64, 512} {
		b.Run(fmt.Sprintf("goroutines=%d", 2*parallel), func(b *testing.B) {
			s, _ := benchLog(b, nil)
			b.SetParallelism(parallel)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, _, err := s.Append(context.Background(), feedback); err != nil {
						b.Error(err)
						return
					}
				}
			})
			report(b, s)
		})
	}
}

// BenchmarkAppendMemory measures appending without the disk.
func BenchmarkAppendMemory(b *testing.B) {
	s, _ := benchLog(b, vfs.NewMem())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Append(context.Background(), feedback); err != nil {
			b.Fatal(err)
		}
	}
	report(b, s)
}

// BenchmarkRead measures reading, and the bytes that an event takes on disk beyond its payload.
func BenchmarkRead(b *testing.B) {
	const n = 200_000
	fs := vfs.NewMem()
	s, dir := benchLog(b, fs)
	events := make([]Event, 1000)
	for i := range events {
		events[i] = feedback
	}
	for range n / len(events) {
		if _, _, err := s.Append(context.Background(), events...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		count := 0
		for _, err := range s.Read(context.Background(), 1) {
			if err != nil {
				b.Fatal(err)
			}
			count++
		}
		if count != n {
			b.Fatal(count)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	size := 0
	for name, data := range readTree(b, fs, filepath.Join(dir, eventsName)) {
		if isTable(name) {
			size += len(data)
		}
	}
	b.ReportMetric(float64(size)/n, "bytes/event")
	b.ReportMetric(float64(len(feedback.Payload)), "payload-bytes/event")
}
