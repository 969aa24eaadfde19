package service

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/cli/clitest"
)

// What is spent is a number, also where the ledger is lost.
func TestReportOfLostLedger(t *testing.T) {
	var out bytes.Buffer
	err := writeReport(&out, &api.Report{Name: "x", Privacy: &api.PrivacyReport{
		Epsilon: 2, Delta: 1e-6, Spent: 2, Unknown: "the ledger is lost: the whole budget counts as spent",
	}})
	if err != nil || !strings.Contains(out.String(), "privacy: epsilon 2 spent of 2, delta 1e-06;") ||
		!strings.Contains(out.String(), "\nprivacy: the ledger is lost: the whole budget counts as spent\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestReportRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment report", "report takes the name of one experiment, got 0 arguments"},
		clitest.Refusal{"experiment report a b", "report takes the name of one experiment, got 2 arguments"},
	)
}
