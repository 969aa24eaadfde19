package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/eventlog"
)

// A counter whose state is a fold over the log survives a crash. A snapshot shortens the fold.
func Example() {
	ctx := context.Background()
	disk := vfs.NewMem() // nil is the machine's disk
	log, err := eventlog.Open(disk, "data/log", eventlog.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []string{"5", "7", "30"} {
		if _, _,
			err := log.Append(ctx, eventlog.Event{Kind: "add", Time: 1_700_000_000, Payload: []byte(n)}); err != nil {
			fmt.Println(err)
		}
	}
	if err := log.SaveSnapshot(ctx, 2, []byte("12")); err != nil {
		fmt.Println(err)
	}

	snapshot, err := log.LatestSnapshot(ctx)
	if err != nil {
		fmt.Println(err)
	}
	sum, _ := strconv.Atoi(string(snapshot.State))
	for record, err := range log.Read(ctx, snapshot.Position+1) {
		if err != nil {
			fmt.Println(err)
			break
		}
		n, _ := strconv.Atoi(string(record.Payload))
		sum += n
		fmt.Println("position", record.Position, "adds", n)
	}
	fmt.Println("sum", sum, log.Close())
	// Output:
	// position 3 adds 30
	// sum 42 <nil>
}

func ExampleExport() {
	log, err := eventlog.Open(vfs.NewMem(), "log", eventlog.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, _, err = log.Append(ctx,
		eventlog.Event{Kind: "feedback", Time: 10, Payload: []byte(`{"unit":"u1","clicks":1}`)},
		eventlog.Event{Kind: "blob", Time: 11, Payload: []byte{0, 1, 2}})
	if err != nil {
		fmt.Println(err)
	}
	n, err := eventlog.Export(os.Stdout, log.Read(ctx, 1))
	fmt.Println(n, err, log.Close())
	// Output:
	// {"position":1,"kind":"feedback","time":10,"payload":{"unit":"u1","clicks":1}}
	// {"position":2,"kind":"blob","time":11,"base64":"AAEC"}
	// 2 <nil> <nil>
}

func ExampleImport() {
	log, err := eventlog.Open(vfs.NewMem(), "log", eventlog.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := eventlog.Import(context.Background(), log, "events.jsonl", strings.NewReader(
		`{"position":1,"kind":"add","time":10,"payload":5}`+"\n"+
			`{"position":3,"kind":"add","time":11,"payload":7}`+"\n"))
	fmt.Println(n, err)
	fmt.Println(log.Close())
	// Output:
	// 1 events.jsonl:2: position 3: it must be 2, as positions continue those of the log and of the lines before
	// <nil>
}

// Tail follows the log until its context ends.
func ExampleStore_Tail() {
	log, err := eventlog.Open(vfs.NewMem(), "log", eventlog.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for record, err := range log.Tail(ctx, 1) {
			if err != nil {
				fmt.Println("end:", err)
				return
			}
			fmt.Println(record.Position, string(record.Payload))
			if record.Position == 2 {
				stop()
			}
		}
	}()
	for _, text := range []string{"one", "two"} {
		if _, _, err := log.Append(context.Background(),
			eventlog.Event{Kind: "word", Payload: []byte(text)}); err != nil {
			fmt.Println(err)
		}
	}
	<-done
	fmt.Println(log.Close())
	// Output:
	// 1 one
	// 2 two
	// end: context canceled
	// <nil>
}

// A log whose write-ahead log was lost is refused with an error that names the loss, and repaired.
func ExampleRepair() {
	ctx := context.Background()
	disk := vfs.NewMem()
	log, err := eventlog.Open(disk, "log", eventlog.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		if _, _, err := log.Append(ctx, eventlog.Event{Kind: "n", Payload: []byte(strconv.Itoa(i))}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(log.Close())
	names, _ := disk.List("log/events")
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			_ = disk.Remove("log/events/" + name)
		}
	}

	_, err = eventlog.Open(disk, "log", eventlog.DefaultOptions())
	fmt.Println(errors.Is(err, eventlog.ErrDamaged), err)
	_, err = eventlog.Repair(ctx, disk, "log", eventlog.RepairOptions{})
	fmt.Println(err)
	report, err := eventlog.Repair(ctx, disk, "log", eventlog.RepairOptions{AcceptLoss: 3})
	fmt.Println(report.Lost, report.SetAside, err)
	// Output:
	// <nil>
	// true log: the log is damaged: it ends at position 0, but 3 was acknowledged: the positions 1 to 3 are missing
	// log: the repair would drop 3 acknowledged events, 1 to 3, but only 0 are allowed: nothing was changed
	// 3 [events.damaged-1] <nil>
}
