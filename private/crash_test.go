package private

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
)

// crash is the panic of a store that kills its process.
type crash struct{}

// crashingStore counts the durable writes of all stores and dies before or after one of them.
type crashingStore struct {
	dp.Store
	writes *int
	at     int
	after  bool
}

func (c *crashingStore) CompareAndSwap(epoch uint64, document []byte) error {
	*c.writes++
	dies := *c.writes == c.at
	if dies && !c.after {
		panic(crash{})
	}
	err := c.Store.CompareAndSwap(epoch, document)
	if dies {
		panic(crash{})
	}
	return err
}

const crashRecords = 5

// publish runs a learner to its end with a ledger and a journal, from whatever is in the stores,
// and calls show with every point that leaves the process.
func publish(l *Learner, accounts, states dp.Store, show func(t int64, theta string)) error {
	ledger, err := dp.OpenLedger(accounts)
	if err != nil {
		return err
	}
	budget, err := dp.ZCDPBudget(1, 1e-6)
	if err != nil {
		return err
	}
	if err := ledger.Open("people", dp.AccountConfig{Protection: dp.PerRecord(), Budget: budget}); err != nil {
		return err
	}
	journal, err := dp.OpenJournal(states, "run")
	if err != nil {
		return err
	}
	last, restart := journal.Last()
	token, err := ledger.Reserve("people", dp.Run{ID: "run", Charge: l.Charge(), Statement: l.Statement()})
	if errors.Is(err, dp.ErrEpoch) {
		token, err = ledger.Resume("people", "run", last.Steps)
	}
	if err != nil {
		return err
	}
	if restart {
		if err := errors.Join(l.UnmarshalBinary(last.State), ledger.Commit(token, last.Steps)); err != nil {
			return err
		}
		if string(last.Release) != bytesOf(l.Theta()) {
			return errors.New("the restored point is not the one of the journal")
		}
		show(last.Steps, string(last.Release))
	}
	for l.Records() < crashRecords {
		if err := l.Step([]float64{1, 0.5}, 0.3); err != nil {
			return err
		}
		state, err := l.MarshalBinary()
		if err != nil {
			return err
		}
		release := bytesOf(l.Theta())
		err = journal.Write(dp.Checkpoint{Steps: l.Records(), State: state, Release: []byte(release)})
		if err := errors.Join(err, ledger.Commit(token, l.Records())); err != nil {
			return err
		}
		show(l.Records(), release)
	}
	return nil
}

func bytesOf(x []float64) string {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

// TestOracleO10Learner kills a run with secure noise before and after every durable write. The
// restarted run shows the same points again, each record has one point, and the ledger is charged
// once.
func TestOracleO10Learner(t *testing.T) {
	p := NewProblem(must(NewBall(2, 1, 1)), Squared(), 1, 1, crashRecords)
	noise := Noise{Kind: dp.Tree, Protection: dp.PerRecord(), Budget: must(dp.ZCDPBudget(0.5, 1e-6))}
	makers := map[string]func() (*Learner, error){
		"tofw": func() (*Learner, error) { return NewTOFW(p, noise) },
		"pofw": func() (*Learner, error) { return NewPOFW(p, noise) },
	}
	for name, maker := range makers {
		for at := 1; ; at++ {
			total := 0
			for _, after := range []bool{false, true} {
				accounts, states := &dp.MemoryStore{}, &dp.MemoryStore{}
				shown := map[int64]string{}
				show := func(step int64, theta string) {
					if old, ok := shown[step]; ok && old != theta {
						t.Fatalf("%s, crash at write %d: record %d has two points", name, at, step)
					}
					shown[step] = theta
				}
				total = 0
				died := attempt(t, func() error {
					return publish(must(maker()), &crashingStore{accounts, &total, at, after},
						&crashingStore{states, &total, at, after}, show)
				})
				if died {
					if err := publish(must(maker()), accounts, states, show); err != nil {
						t.Fatalf("%s, restart after a crash at write %d: %v", name, at, err)
					}
				}
				spent := must(must(dp.OpenLedger(accounts)).Spent("people", 1e-6))
				if len(shown) != crashRecords || spent > 0.5*(1+1e-6) || spent < 0.49 {
					t.Fatalf("%s, crash at write %d: %d points, ε = %v spent", name, at, len(shown), spent)
				}
			}
			if total < at {
				if at < 2*crashRecords {
					t.Errorf("%s: %d durable writes", name, total)
				}
				break
			}
		}
	}
}

// attempt runs f and reports whether it crashed.
func attempt(t *testing.T, f func() error) (died bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(fmt.Sprint(r))
			}
			died = true
		}
	}()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	return false
}
