package eventlog

import (
	"errors"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// After the first failed change of the disk nothing is written any more, even if the disk recovers.
func TestFailStopIsFinal(t *testing.T) {
	noLeaks(t)
	mem := vfs.NewMem()
	told := 0
	f := newFailStop(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync && told == 0 {
			return errorfs.ErrInjected
		}
		return nil
	})), func(error) { told++ })
	file, err := f.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("sync: %v", err)
	}
	_, write := file.Write([]byte("after"))
	_, create := f.Create("b", vfs.WriteCategoryUnspecified)
	_, reuse := f.ReuseForWrite("a", "b", vfs.WriteCategoryUnspecified)
	_, readWrite := f.OpenReadWrite("b", vfs.WriteCategoryUnspecified)
	_, syncTo := file.SyncTo(1)
	_, writeAt := file.WriteAt([]byte("x"), 0)
	for name, err := range map[string]error{
		"write": write, "create": create, "reuse": reuse, "open": readWrite, "sync to": syncTo, "write at": writeAt,
		"sync": file.Sync(), "sync data": file.SyncData(), "rename": f.Rename("a", "b"), "link": f.Link("a", "b"),
		"mkdir": f.MkdirAll("d", 0o777), "remove": f.Remove("a"), "remove all": f.RemoveAll("a"),
		"preallocate": file.Preallocate(0, 1),
	} {
		if !errors.Is(err, errorfs.ErrInjected) {
			t.Errorf("%s: %v, want the first cause", name, err)
		}
	}
	if err := f.abandon(); err != nil {
		t.Error(err)
	}
	if _, err := file.Read(make([]byte, 1)); err == nil {
		t.Error("an abandoned file can be read")
	}
	if names, _ := mem.List(""); told != 1 || len(names) != 1 {
		t.Errorf("the failure was reported %d times, files %q", told, names)
	}
}

// heldFS holds renames until they may go on.
type heldFS struct {
	vfs.FS
	began, goOn chan struct{}
}

func (f *heldFS) Rename(oldname, newname string) error {
	close(f.began)
	<-f.goOn
	return f.FS.Rename(oldname, newname)
}

// TestNoChangeAfterAbandon checks that a change which has begun ends before abandon does, and that
// what is opened later is closed. Before, the change could happen when another Store had opened the
// log.
func TestNoChangeAfterAbandon(t *testing.T) {
	noLeaks(t)
	disk := &heldFS{vfs.NewMem(), make(chan struct{}), make(chan struct{})}
	f := newFailStop(disk, nil)
	file, err := f.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	renamed, abandoned := make(chan error, 1), make(chan error, 1)
	go func() { renamed <- f.Rename("a", "b") }()
	<-disk.began
	go func() { abandoned <- f.abandon() }()
	for range 1000 {
		select {
		case <-abandoned:
			t.Fatal("abandon does not wait for the rename")
		default:
			runtime.Gosched()
		}
	}
	close(disk.goOn)
	if err := errors.Join(<-renamed, <-abandoned); err != nil {
		t.Error(err)
	}
	if _, err := f.Open("b"); !errors.Is(err, errAbandoned) {
		t.Errorf("a file is opened after the end: %v", err)
	}
	if err := f.Rename("b", "c"); !errors.Is(err, errAbandoned) {
		t.Errorf("a change after the end: %v", err)
	}
	if _, err := file.Write([]byte("x")); err == nil {
		t.Error("a file is written to after the end")
	}
}
