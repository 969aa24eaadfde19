package eventlog

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
)

// Check and Repair do not change a sound log.
func TestCheckSound(t *testing.T) {
	noLeaks(t)
	tr, _, _ := smallLog(t)
	fs := tr.fs(t)
	r, err := Check(t.Context(), fs, "log")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for i := uint64(6); i <= 24; i++ {
		size += int64(recordSize(event(i)))
	}
	want := &Report{
		Dir: "log", Base: 5, Last: 24, Acknowledged: 24, Bytes: size, Findings: []Finding{},
		Snapshots: []SnapshotReport{{5, 7, ""}, {20, 8, ""}},
	}
	if !reflect.DeepEqual(r, want) || r.Err() != nil {
		t.Errorf("got %+v, want %+v", r, want)
	}
	rep, err := Repair(t.Context(), fs, "log", RepairOptions{})
	if err != nil || rep.Changed || rep.Kept != (Range{6, 24}) {
		t.Errorf("repair: %v, %+v", err, rep)
	}
	if after := readTree(t, fs, "log"); !reflect.DeepEqual(tr, after) {
		t.Error("check and repair of a sound log changed the files")
	}
}

// A read error of the disk is not damage: nothing may be dropped because of it.
func TestReadFaultIsNoDamage(t *testing.T) {
	tr, first, last := smallLog(t)
	for _, kind := range []errorfs.OpKind{
		errorfs.OpOpen, errorfs.OpFileRead, errorfs.OpFileReadAt, errorfs.OpList,
		errorfs.OpStat,
	} {
		for n := range int32(40) {
			fs := tr.fs(t)
			var left atomic.Int32 // calls before the one that fails
			left.Store(n)
			broken := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind != kind {
					return nil
				}
				if left.Add(-1) == -1 {
					return errorfs.ErrInjected
				}
				return nil
			}))
			r, err := Repair(t.Context(), broken, "log", RepairOptions{AcceptLoss: 100})
			if err == nil && (r.Changed || r.Before.Damaged()) || err != nil &&
				(errors.Is(err, ErrDamaged) || noregret.CodeOf(err) != noregret.Internal) {
				t.Errorf("%v %d: repair: %v, %+v", kind, n, err, r)
			}
			if left.Load() >= 0 { // the repair makes fewer calls of this kind
				break
			}
			if !checkDetected(t, fmt.Sprint(kind, n), readTree(t, fs, "log"), first, last) {
				t.Errorf("%v %d: the log has changed", kind, n)
			}
		}
	}
}
