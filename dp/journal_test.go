package dp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/atomicfile"
)

// crash is the panic of a store that kills its process.
type crash struct{}

// crashingStore counts durable writes over all stores and dies before or after one of them.
type crashingStore struct {
	Store
	writes *int
	at     int // the number of the write
	after  bool
	die    func()
}

func (c *crashingStore) CompareAndSwap(epoch uint64, document []byte) error {
	*c.writes++
	if *c.writes == c.at && !c.after {
		c.die()
	}
	err := c.Store.CompareAndSwap(epoch, document)
	if *c.writes == c.at && c.after {
		c.die()
	}
	return err
}

const crashSteps = 6

// releaseAll runs a private stream with a ledger and a journal to its end, as the comment of
// Journal says, from whatever is in the stores, and calls show with every release that leaves the
// process.
func releaseAll(ledgerStore, journalStore Store, show func(t int64, release string)) error {
	budget, err := ZCDPBudget(1, 1e-6)
	if err != nil {
		return err
	}
	ledger, err := OpenLedger(ledgerStore)
	if err != nil {
		return err
	}
	if err := ledger.Open("people", records(budget)); err != nil {
		return err
	}
	lattice, err := NewLattice(DefaultLatticeConfig(2, crashSteps, L2, 1))
	if err != nil {
		return err
	}
	stream, err := NewStream(StreamConfig{
		Kind: Tree, Lattice: lattice, Batch: 1, Protection: PerRecord(), Budget: budget,
	})
	if err != nil {
		return err
	}
	journal, err := OpenJournal(journalStore, "run")
	if err != nil {
		return err
	}
	run := Run{ID: "run", Charge: stream.Charge(), Statement: stream.Statement()}
	token, err := ledger.Reserve("people", run)
	if errors.Is(err, ErrEpoch) { // reserved before the crash
		last, _ := journal.Last()
		token, err = ledger.Resume("people", "run", last.Steps)
	}
	if err != nil {
		return err
	}
	if last, ok := journal.Last(); ok {
		if err := errors.Join(stream.UnmarshalBinary(last.State), ledger.Commit(token, last.Steps)); err != nil {
			return err
		}
		show(last.Steps, string(last.Release))
	}
	out := make([]float64, 2)
	for stream.Steps() < crashSteps {
		if err := stream.Add([]float64{1, 0.5}, out); err != nil {
			return err
		}
		state, err := stream.MarshalBinary()
		if err != nil {
			return err
		}
		release := make([]byte, 0, 16)
		for _, v := range out {
			release = binary.LittleEndian.AppendUint64(release, math.Float64bits(v))
		}
		if err := journal.Write(Checkpoint{Steps: stream.Steps(), State: state, Release: release}); err != nil {
			return err
		}
		if err := ledger.Commit(token, stream.Steps()); err != nil {
			return err
		}
		show(stream.Steps(), string(release))
	}
	return ledger.Close(token)
}

// TestOracleO10Crash dies before and after every durable write, restarts, and checks that every
// step has one release, however often it is shown, and that the ledger was charged exactly once.
func TestOracleO10Crash(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			ledgerStore, journalStore := new(MemoryStore), new(MemoryStore)
			shown := map[int64]string{}
			show := func(step int64, release string) {
				if old, ok := shown[step]; ok && old != release {
					t.Fatalf("crash at write %d: step %d has two releases", at, step)
				}
				shown[step] = release
			}
			writes := 0
			died := func() (died bool) {
				defer func() {
					if r := recover(); r != nil {
						if _, ok := r.(crash); !ok {
							panic(r)
						}
						died = true
					}
				}()
				wrap := func(s Store) Store {
					return &crashingStore{Store: s, writes: &writes, at: at, after: after, die: func() {
						panic(crash{})
					}}
				}
				if err := releaseAll(wrap(ledgerStore), wrap(journalStore), show); err != nil {
					t.Fatal(err)
				}
				return false
			}()
			if !died {
				if at < 2*crashSteps {
					t.Fatalf("only %d writes", writes)
				}
				break
			}
			if err := releaseAll(ledgerStore, journalStore, show); err != nil && !errors.Is(err, ErrClosed) {
				t.Fatalf("restart after a crash at write %d: %v", at, err)
			}
			if len(shown) != crashSteps {
				t.Fatalf("crash at write %d: %d steps were released, want %d", at, len(shown), crashSteps)
			}
			checkCrashLedger(t, ledgerStore)
		}
	}
}

// checkCrashLedger checks that the account was charged once and is not over its budget.
func checkCrashLedger(t *testing.T, store Store) {
	t.Helper()
	ledger, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	_, runs, err := ledger.Account("people")
	if err != nil || len(runs) != 1 || runs[0].Steps != crashSteps || runs[0].State != Closed {
		t.Fatalf("rows %+v, %v", runs, err)
	}
	spent, err := ledger.Spent("people", 1e-6)
	if err != nil || spent > 1 || spent < 0.99 {
		t.Fatalf("spent %g, %v", spent, err)
	}
}

const crashChild = "NOREGRET_DP_CRASH_CHILD"

// TestOracleO10KilledProcess kills a child process, without any chance to clean up, around durable
// writes to files, and restarts it until it ends.
func TestOracleO10KilledProcess(t *testing.T) {
	if dir := os.Getenv(crashChild); dir != "" {
		runCrashChild(t, dir)
		return
	}
	dir := t.TempDir()
	shown := map[string]string{}
	kills := 0
	for at := 1; ; at++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOracleO10KilledProcess$", "-test.v=false")
		cmd.Env = append(os.Environ(), crashChild+"="+dir, fmt.Sprintf("%s_AT=%d", crashChild, at%4+1))
		out, err := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if step, release, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				if old, seen := shown[step]; seen && old != release {
					t.Fatalf("start %d: %s has two releases", at, step)
				}
				shown[step] = release
			}
		}
		if err == nil {
			break
		}
		if kills++; kills > 60 || strings.Contains(string(out), "FAIL") {
			t.Fatalf("start %d: %v\n%s", at, err, out)
		}
	}
	if kills < 3 || len(shown) != crashSteps {
		t.Errorf("%d kills, %d steps were released, want %d", kills, len(shown), crashSteps)
	}
	store, err := OpenFileStore(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	checkCrashLedger(t, store)
}

func runCrashChild(t *testing.T, dir string) {
	at, err := strconv.Atoi(os.Getenv(crashChild + "_AT"))
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	open := func(name string) Store {
		s, err := OpenFileStore(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return &crashingStore{Store: s, writes: &writes, at: at, after: at%2 == 0, die: func() {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			t.Fatal(err)
		}}
	}
	err = releaseAll(open("ledger"), open("journal"), func(step int64, release string) {
		fmt.Printf("step %d=%x\n", step, release)
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestJournalErrors(t *testing.T) {
	store := new(MemoryStore)
	j, err := OpenJournal(store, "run")
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenJournal(store, "run")
	if err != nil {
		t.Fatal(err)
	}
	c := Checkpoint{Steps: 3, State: []byte("s"), Release: []byte("r")}
	if err := errors.Join(j.Write(c), j.Write(c)); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(Checkpoint{Steps: 3, State: []byte("s"), Release: []byte("another")}); !errors.Is(err,
		ErrHorizon) {
		t.Errorf("another release of a step: %v, want ErrHorizon", err)
	}
	if err := j.Write(Checkpoint{Steps: 2}); !errors.Is(err, ErrHorizon) {
		t.Errorf("an earlier step: %v, want ErrHorizon", err)
	}
	if err := other.Write(Checkpoint{Steps: 4}); !errors.Is(err, ErrEpoch) {
		t.Errorf("a second writer: %v, want ErrEpoch", err)
	}
	if _, err := OpenJournal(store, "other run"); err == nil {
		t.Error("the journal of another run opens")
	}
}

// A journal that is over is erased with its directory, which stays if it has other files: the error
// names one. If erasing fails in the middle, the newest checkpoint is still there, and none before
// it.
func TestEraseJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	fill := func() *FileStore {
		store, err := OpenFileStore(dir)
		for i := range uint64(5) {
			err = errors.Join(err, store.CompareAndSwap(i, []byte{byte(i)}))
		}
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := fill()
	if err := errors.Join(store.Erase(), store.Erase()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}

	store = fill()
	blocked := store.path(3) // a directory that is not empty cannot be removed as a file
	if err := errors.Join(os.Remove(blocked), os.MkdirAll(filepath.Join(blocked, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := store.Erase(); err == nil {
		t.Error("erased a directory")
	}
	if document, epoch, err := store.Load(); err != nil || epoch != 5 || document[0] != 4 {
		t.Errorf("%v, epoch %d, %v", document, epoch, err)
	}
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.RemoveAll(blocked), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := store.Erase(); err == nil || !strings.Contains(err.Error(), `"other" is in it`) {
		t.Errorf("with another file in the directory: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A reader changes nothing: it cleans nothing, leaves the permissions and refuses no files of
// others. It finds what a writer writes, and writes nothing itself.
func TestFileStoreReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := OpenFileStoreReadOnly(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	writer, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, "epoch-00000000000000000001")
	dead := filepath.Join(dir, ".epoch-00000000000000000002.tmp1-0")
	if err := errors.Join(writer.CompareAndSwap(0, []byte("one")), os.WriteFile(dead, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600), os.Mkdir(filepath.Join(dir,
			"epoch-00000000000000000009"), 0o700), os.Chmod(first, 0o640), os.Chmod(dir, 0o750)); err != nil {
		t.Fatal(err)
	}
	look := func() (out string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			st, err2 := os.Stat(path)
			if err = errors.Join(err, err2); err == nil {
				out += path + " " + st.Mode().String() + "\n"
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := look()
	reader, err := OpenFileStoreReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, epoch, err := reader.Load(); string(b) != "one" || epoch != 1 || err != nil {
		t.Errorf("%q, %d, %v", b, epoch, err)
	}
	if err := reader.CompareAndSwap(1, []byte("two")); err == nil {
		t.Error("a reader writes")
	}
	if err := reader.Erase(); err == nil {
		t.Error("a reader erases")
	}
	if after := look(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

// What killed writers have left of a secret state is removed when it is opened and when it is
// erased, and what a living one writes is not. A directory with a file of somebody else, such as a
// copy of a state, is refused before anything is removed.
func TestFileStoreCleansUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	store, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CompareAndSwap(0, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(dir, ".epoch-00000000000000000002.tmp1-0")
	names := func() string {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	const first = "epoch-00000000000000000001"
	if err := errors.Join(os.WriteFile(temporary, []byte("secret"), 0o600), os.Chmod(dir, 0o755),
		os.Chmod(filepath.Join(dir, first), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFileStore(dir); err != nil || names() != first {
		t.Errorf("after opening: %q, %v", names(), err)
	}
	for _, path := range []string{dir, filepath.Join(dir, first)} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}

	alive, err := atomicfile.CreatePrivate(filepath.Join(dir, "epoch-00000000000000000002"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFileStore(dir); err != nil || !strings.Contains(names(), ".tmp") {
		t.Errorf("the file of a living writer is gone: %q, %v", names(), err)
	}
	alive.Abort()

	for _, foreign := range []string{
		"copy", "epoch-1", "epoch-00000000000000000001~", ".copy.tmp1-0", "epoch-0000000000000000000x",
	} {
		path := filepath.Join(dir, foreign)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(temporary, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFileStore(dir); err == nil || !strings.Contains(err.Error(), strconv.Quote(foreign)) {
			t.Errorf("with the file %s: %v", foreign, err)
		}
		if !strings.Contains(names(), filepath.Base(temporary)) {
			t.Errorf("%s: something was removed", foreign)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, first), filepath.Join(dir, "epoch-00000000000000000003")); err == nil {
		if _, err := OpenFileStore(dir); err == nil {
			t.Error("a symbolic link is taken for an epoch")
		}
		if err := os.Remove(filepath.Join(dir, "epoch-00000000000000000003")); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Erase(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left with %q: %v", names(), err)
	}
}
