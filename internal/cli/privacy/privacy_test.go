package privacy

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/budgets"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/private"
)

// The plan has the goldens of calibration: 10,000 steps at ε = 1 and δ = 1e-4.
func TestPrivacyPlanGoldens(t *testing.T) {
	out := cmds.Printed(t, "privacy", "plan", "--epsilon", "1", "--delta", "1e-4", "--horizon", "10000",
		"--dim", "10", "--norm", "1", "--clip", "3", "--json")
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]float64{
		"tree": {23.84, 60.6}, "honaker": {23.84, 45.4}, "doubling": {6.371, 75.3}, "square-root": {12.74, 24.44},
	}
	seen := 0
	for _, r := range rows {
		if e := r["epsilon_spent"].(float64); !(e <= 1 && e > 0.999) {
			t.Errorf("%v %v spends ε = %v, want 1 and not more", r["mechanism"], r["noise"], e)
		}
		if s := r["statement"].(string); !strings.Contains(s, "not protected:") {
			t.Errorf("the statement of %v does not say what is not protected:\n%s", r["noise"], s)
		}
		w, ok := want[r["noise"].(string)]
		if !ok {
			continue
		}
		seen++
		sigma, prefix := r["sigma_over_clip"].(float64), r["prefix_rms_over_clip"].(float64)
		if math.Abs(sigma/w[0]-1) > 1e-3 || math.Abs(prefix/w[1]-1) > 1e-3 {
			t.Errorf("%v: %.4f and %.4f over the clip, want %v", r["noise"], sigma, prefix, w)
		}
		if rho, mu := r["rho"].(float64), 1/3.18570; math.Abs(rho/(mu*mu/2)-1) > 1e-4 {
			t.Errorf("%v: ρ = %v, want %v", r["noise"], rho, mu*mu/2)
		}
	}
	if seen != len(want) || len(rows) != len(want)+2 {
		t.Errorf("%d rows, %d of them streams: want the streams and two choices of vertices", len(rows), seen)
	}
	least := rows[0]["excess"].(float64)
	for _, r := range rows {
		if r["excess"].(float64) < least {
			t.Errorf("the first row is not the best one: %v %v", r["mechanism"], r["noise"])
		}
	}
}

// On the l1 ball with 10,000 records the plan takes DP-TOFW for 50 features and DP-POFW for a
// million: --clip is the bound of one norm for all rows, and the Euclidean bound follows from it.
func TestPrivacyPlanOracleO11(t *testing.T) {
	plan := func(args ...string) (rows []privacyRow) {
		out := cmds.Printed(t, append([]string{
			"privacy", "plan", "--epsilon", "1", "--delta", "1e-4", "--horizon", "10000", "--json",
		}, args...)...)
		if err := json.Unmarshal([]byte(out), &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for _, c := range []struct {
		dim, mechanism string
		euclidean      float64 // for the maximum norm 2: 2·√d
	}{{"50", "tofw", 2 * math.Sqrt(50)}, {"1000000", "pofw", 2000}} {
		rows := plan("--norm", "1", "--clip", "2", "--dim", c.dim)
		if rows[0].Mechanism != c.mechanism {
			t.Errorf("d = %s: the best row is %s %s, want %s", c.dim, rows[0].Mechanism, rows[0].Noise, c.mechanism)
		}
		for i := range rows {
			want := 2.0
			if rows[i].Mechanism == "tofw" {
				want = c.euclidean
			}
			if math.Abs(float64(rows[i].Clip)/want-1) > 1e-12 {
				t.Errorf("d = %s, %s: the clip is %v, want %v", c.dim, rows[i].Noise, rows[i].Clip, want)
			}
		}
	}
	// A Euclidean bound may be stated, and for q ≤ 2 follows from --clip without a factor.
	for _, c := range []struct {
		want float64
		args []string
	}{
		{3, []string{"--norm", "1", "--clip-l2", "3"}},
		{2, []string{"--norm", "inf"}},
		{math.Pow(50, 1.0/6) * 2, []string{"--norm", "1.5"}},
	} {
		r := plan(append(c.args, "--clip", "2", "--dim", "50")...)[0]
		clip, sigma := float64(r.Clip), float64(r.Sigma)
		if r.Mechanism != "tofw" || math.Abs(clip/c.want-1) > 1e-12 || math.Abs(sigma-12.74) > 0.01 {
			t.Errorf("%v: %s, clip %v, σ over it %v", c.args, r.Mechanism, clip, sigma)
		}
	}
}

// What the plan refuses.
func TestPrivacyPlanRefuses(t *testing.T) {
	const plan = "privacy plan --epsilon=1 --delta=1e-6 --horizon=100 --dim=3 "
	cmds.Refused(t,
		clitest.Refusal{plan + "--epsilon=0", "--epsilon: 0 is out of range, want a finite number above 0"},
		clitest.Refusal{plan + "--epsilon=Inf", "--epsilon: +Inf is out of range"},
		clitest.Refusal{plan + "--delta=1", "--delta: 1 is out of range, want at least 0 and below 1"},
		clitest.Refusal{plan + "--horizon=0", "--horizon: 0 is out of range, want 1 to 2^40"},
		clitest.Refusal{plan + "--dim=0", "--dim: 0 is out of range"},
		clitest.Refusal{plan + "--norm=0.5", `--norm: "0.5" is out of range, want a number from 1 on, or inf`},
		clitest.Refusal{plan + "--norm=NaN", `--norm: "NaN" is out of range`},
		clitest.Refusal{plan + "--clip=-1", "--clip: -1 is out of range"},
		clitest.Refusal{plan + "--clip-l2=-1", "--clip-l2: -1 is out of range, want a finite number"},
		clitest.Refusal{plan + "--radius=0", "--radius: 0 is out of range"},
		clitest.Refusal{plan + "--batch=101", "--batch: 101 is out of range, want 1 to --horizon"},
		clitest.Refusal{plan + "--records=0", "--records: 0 is out of range"},
		clitest.Refusal{"privacy ledger", "ledger takes one DIR, got 0 arguments"},
		clitest.Refusal{"privacy audit --steps 48", "--steps: 48 is out of range, want a power of two from 1 to 4096"},
		clitest.Refusal{"privacy audit --delta 0", "--delta: 0 is out of range"},
		clitest.Refusal{"privacy audit --runs 0", "--runs: 0 is out of range"},
		clitest.Refusal{"privacy audits", `unknown command "audits"`},
	)
}

// The command prints what a ledger has charged.
func TestPrivacyLedger(t *testing.T) {
	dir := t.TempDir()
	store, err := dp.OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dp.OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	total, err := dp.GDPBudget(2, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Open("customers", dp.AccountConfig{Protection: dp.PerRecord(), Budget: total}); err != nil {
		t.Fatal(err)
	}
	lattice, err := dp.NewLattice(dp.DefaultLatticeConfig(3, 100, dp.L2, 1))
	if err != nil {
		t.Fatal(err)
	}
	part, err := dp.GDPBudget(1, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	s, err := dp.NewStream(dp.StreamConfig{
		Kind: dp.Tree, Lattice: lattice, Batch: 1, Protection: dp.PerRecord(), Budget: part,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve("customers", dp.Run{ID: "first", Charge: s.Charge(), Statement: s.Statement()}); err != nil {
		t.Fatal(err)
	}
	out := cmds.Printed(t, "privacy", "ledger", dir)
	for _, want := range []string{
		"customers", "epsilon 2, delta 1e-06 (GDP)", "first", "reserved", "tree prefix sums",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
	var accounts []budgets.Account
	if err := json.Unmarshal([]byte(cmds.Printed(t, "privacy", "ledger", "--json", dir)), &accounts); err != nil {
		t.Fatal(err)
	}
	spent, err := l.Spent("customers", 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if a := accounts[0]; len(a.Runs) != 1 || float64(a.Spent) != spent || !(a.Remaining > 0 && a.Remaining < 2) {
		t.Errorf("the ledger as JSON: %+v: want one run and ε = %v spent", a, spent)
	}
	if status, _, stderr := cmds.Try(t.Context(), "privacy", "ledger", t.TempDir()); status != 3 {
		t.Errorf("an empty directory: status %d, %q: want 3", status, stderr)
	}
}

// The audit passes what is shipped, with the system's randomness.
func TestPrivacyAudit(t *testing.T) {
	var rows []auditRow
	out := cmds.Printed(t, "privacy", "audit", "--runs", "300", "--steps", "8", "--progress", "quiet", "--json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 {
		t.Fatalf("%d kinds of noise, want 4", len(rows))
	}
	for _, r := range rows {
		if r.Refuted || !(r.MuLow < r.Mu) || math.Abs(float64(r.MuClaim)-0.3139) > 1e-4 || r.Runs != 300 {
			t.Errorf("%s: %+v: want a lower bound below the estimate and a claim of 0.3139", r.Noise, r)
		}
	}
}

// The ε that the plan prints includes what the discreteness of the noise adds to δ.
func TestPrivacyPlanCountsSlack(t *testing.T) {
	row := private.PlanRow{Delta: 1e-5, Charge: dp.Charge{
		Protection: dp.PerRecord(), Accounting: dp.GDP, MuSq: 0.09, Rho: 0.045, Slack: 1e-6,
	}}
	got, err := privacyRowOf(&row)
	if err != nil {
		t.Fatal(err)
	}
	without, err := dp.GaussianEpsilon(0.3, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	delta, err := dp.GaussianDelta(0.3, float64(got.Epsilon))
	if total := delta + 1e-6*(1+math.Exp(float64(got.Epsilon))); err != nil || total > 1.00001e-5 ||
		float64(got.Epsilon) < without*1.01 {
		t.Errorf("ε = %v, without slack %v; its δ is %v, %v", got.Epsilon, without, total, err)
	}
}
