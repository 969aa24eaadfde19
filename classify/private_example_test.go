package classify_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
)

// A private training whose ledger and journal are in memory. Programs keep them in files
// ([dp.OpenFileStore]).
func ExamplePrivateFit() {
	schema := &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne, Dim: 2}
	trainer, err := classify.NewPrivateTrainer(classify.PrivateOptions{
		Epsilon: 1, Delta: 1e-4, Horizon: 1000, Schema: schema, Negative: "no", Positive: "yes",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ledger, _ := dp.OpenLedger(&dp.MemoryStore{})
	budget, _ := dp.GDPBudget(3, 1e-4)
	if err := ledger.Open("patients", dp.AccountConfig{Protection: dp.PerRecord(), Budget: budget}); err != nil {
		fmt.Println(err)
		return
	}
	journal, _ := dp.OpenJournal(&dp.MemoryStore{}, "first")
	input := strings.Repeat("yes 1:1 2:0.5\nno 1:-1 2:0.25\n", 500)
	stream, err := dataset.Open(context.Background(), []string{"-"}, dataset.Options{
		Schema: schema, Unseen: dataset.UnseenIgnore, Stdin: strings.NewReader(input),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = stream.Close() }()
	out, err := classify.PrivateFit(context.Background(), stream, trainer, classify.PrivateRun{
		Ledger: ledger, Account: "patients", Run: "first", Journal: journal,
		Release: func([]byte) error { return nil }, // writes the model file
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	spent, _ := ledger.Spent("patients", 1e-4)
	fmt.Printf("%d records, complete: %t, epsilon %.3f spent\n", out.Model.Privacy.Records, out.Complete, spent)
	fmt.Println(out.Model.Algorithm, out.Model.Privacy.Noise)
	// Output:
	// 1000 records, complete: true, epsilon 1.000 spent
	// private-tofw square-root
}
