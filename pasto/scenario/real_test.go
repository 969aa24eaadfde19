package scenario

import (
	"fmt"
	"os"
	"testing"
)

const dataDir = "../../../shared/data"

func TestTryReal(t *testing.T) {
	if os.Getenv("TRY") == "" {
		t.Skip()
	}
	for _, dir := range []string{dataDir, ""} {
		tab, err := RankingTable(t.Context(), Options{Data: dir, Seed: 1, Rounds: 5000})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s users %d items %d c=%.4f\n", tab.Data, tab.Users, tab.Items, tab.Threshold)
		for _, r := range tab.Rows {
			fmt.Printf("%-40s %.4f %.4f %v %v\n", r.Name, r.Recall, r.Genre, r.Holds, r.Arms)
		}
		x, err := ReplayEmails(t.Context(), Options{Data: dir, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(x.Data, x.Logged, x.Accepted, x.Rounds)
		for _, p := range x.Policies {
			fmt.Printf("%-20s %.3f %.3f %.3f\n", p.Name, p.Share, p.Means, p.HorvitzThompson)
		}
	}
}
