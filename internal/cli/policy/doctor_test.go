package policy

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestDoctorRefuses checks that bad flags are found before the log is read.
func TestDoctorRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"doctor", "doctor takes one LOG, got 0 arguments"},
		clitest.Refusal{"doctor x --alpha 2", "--alpha: 2 is out of range"},
		clitest.Refusal{"doctor x --min-effective -1", "--min-effective: -1 is out of range"},
		clitest.Refusal{"doctor x --recent-ids -1", "--recent-ids: -1 is out of range"},
		clitest.Refusal{"doctor x --rewards 1", "--rewards: [1]: want two numbers"},
	)
}
